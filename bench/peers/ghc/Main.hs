-- The transactions in Haskell: the command line, calibration, clock and output
-- as bench/driver.c has them for C, and the work of bench/stm.c. GHC.Conc of
-- the base package has all of STM that is needed.
module Main (main) where

import Control.Concurrent
import Control.Monad
import Data.Bits (shiftR)
import Data.Word (Word64)
import GHC.Clock (getMonotonicTimeNSec)
import GHC.Conc
import System.Environment (getArgs)
import System.Exit
import System.IO
import Text.Printf (printf)

type Bench = Int -> IO Int

table :: [(String, Bench)]
table =
  [ ("stm_read4", read4)
  , ("stm_update2", update2)
  , ("stm_bank", bank)
  , ("stm_counter", counter)
  , ("stm_retry", inTurn)
  ]

check :: Bool -> String -> IO ()
check ok what = unless ok $ do
  hPutStrLn stderr ("benchmark failed: " ++ what)
  exitWith (ExitFailure 1)

share :: Int -> Int -> Int
share n k = (n + k - 1) `div` k

add :: TVar Int -> Int -> STM ()
add var n = do
  value <- readTVar var
  writeTVar var $! value + n

-- Run so many in threads of their own, and wait for all.
together :: [IO ()] -> IO ()
together jobs = do
  done <- forM jobs $ \job -> do
    end <- newEmptyMVar
    _ <- forkIO (job >> putMVar end ())
    return end
  mapM_ takeMVar done

times :: Int -> IO () -> IO ()
times n job = go n
  where go k = when (k > 0) (job >> go (k - 1))

read4 :: Bench
read4 n = do
  a <- newTVarIO 100
  b <- newTVarIO 100
  c <- newTVarIO 100
  d <- newTVarIO (100 :: Int)
  times n $ do
    total <- atomically $ do
      w <- readTVar a
      x <- readTVar b
      y <- readTVar c
      z <- readTVar d
      return $! w + x + y + z
    check (total == 400) "sum"
  return n

update2 :: Bench
update2 n = do
  a <- newTVarIO 100
  b <- newTVarIO 100
  times n $ atomically (add a 1 >> add b (-1))
  moved <- readTVarIO a
  check (moved == 100 + n) "moved"
  return n

-- The accounts as a tree, so that no library of arrays is needed.
data Accounts = Account !(TVar Int) | Half !Accounts !Accounts

accountsCount, clerksCount :: Int
accountsCount = 64
clerksCount = 4

accounts :: Int -> IO Accounts
accounts 1 = Account <$> newTVarIO 1000
accounts n = Half <$> accounts (n `div` 2) <*> accounts (n `div` 2)

account :: Accounts -> Int -> Int -> TVar Int
account (Account var) _ _ = var
account (Half low high) n i
  | i < n `div` 2 = account low (n `div` 2) i
  | otherwise = account high (n `div` 2) (i - n `div` 2)

clerk :: Accounts -> Int -> Word64 -> IO ()
clerk all' rounds = go rounds
  where
    go :: Int -> Word64 -> IO ()
    go 0 _ = return ()
    go k random = do
      let next = random * 6364136223846793005 + 1442695040888963407
          from = fromIntegral (next `shiftR` 33) `mod` accountsCount
          step = fromIntegral (next `shiftR` 40) `mod` (accountsCount - 1)
          to = (from + 1 + step) `mod` accountsCount
          pick = account all' accountsCount
      atomically (add (pick from) (-1) >> add (pick to) 1)
      go (k - 1) next

bank :: Bench
bank n = do
  all' <- accounts accountsCount
  let each = share n clerksCount
  together [clerk all' each (fromIntegral i) | i <- [1 .. clerksCount]]
  balances <- forM [0 .. accountsCount - 1] $ \i ->
    readTVarIO (account all' accountsCount i)
  check (sum balances == 1000 * accountsCount) "no money is lost"
  return (each * clerksCount)

counter :: Bench
counter n = do
  var <- newTVarIO 0
  let each = share n 4
  together (replicate 4 (times each (atomically (add var 1))))
  count <- readTVarIO var
  check (count == 4 * each) "count"
  return count

-- Two threads in turn: each waits until the counter is odd, or even.
inTurn :: Bench
inTurn n = do
  var <- newTVarIO (0 :: Int)
  let turn odd' = atomically $ do
        value <- readTVar var
        when (value `mod` 2 /= odd') retry
        writeTVar var $! value + 1
  together [times n (turn 1), times n (turn 0)]
  count <- readTVarIO var
  check (count == 2 * n) "turns"
  return n

timed :: Bench -> Int -> IO (Double, Int)
timed bench n = do
  begin <- getMonotonicTimeNSec
  ops <- bench n
  end <- getMonotonicTimeNSec
  check (ops >= n) "too few operations"
  return (max 1 (fromIntegral (end - begin)), ops)

calibrate :: Bench -> Double -> IO Int
calibrate bench target = go 100
  where
    go n = do
      (ns, ops) <- timed bench n
      let factor = target / ns
          more f = floor (fromIntegral ops * f) + 1
      if factor < 5
        then return (more factor)
        else go (more (if factor < 400 then factor / 4 else 100))

-- The value of an option, or another.
option :: [String] -> String -> String -> String
option (name : value : rest) wanted other
  | name == wanted = value
  | otherwise = option (value : rest) wanted other
option _ _ other = other

main :: IO ()
main = do
  args <- getArgs
  when ("--list" `elem` args) $ mapM_ (putStrLn . fst) table >> exitSuccess
  let name = option args "--bench" ""
      workers = read (option args "--workers" "1") :: Int
      seconds = read (option args "--seconds" "0.3") :: Double
      iters = read (option args "--iters" "0") :: Int
  case lookup name table of
    Nothing -> do
      hPutStrLn stderr "usage: ghc --bench ID [--workers N] [--seconds S] \
                       \[--iters M]\n       ghc --list"
      exitWith (ExitFailure 2)
    Just bench -> do
      setNumCapabilities workers
      n <- if iters > 0 then return iters else calibrate bench (seconds * 1e9)
      (ns, ops) <- timed bench n
      printf "{\"bench\": \"%s\", \"workers\": %d, \"ops\": %d, \"ns\": %.3f}\n"
        name workers ops (ns / fromIntegral ops)
