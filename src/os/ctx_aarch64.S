/* os/ctx_aarch64.S - leave one stack and enter another, on 64-bit Arm.
 *
 * A context that is not running is a stack pointer; it points at its saved
 * registers:
 *
 *      sp + 0   x29, x30     sp + 48  x23, x24     sp + 96  d8, d9
 *      sp + 16  x19, x20     sp + 64  x25, x26     ...
 *      sp + 32  x21, x22     sp + 80  x27, x28     sp + 144 d14, d15
 *
 * Only what a called function must preserve is saved. The floating-point
 * control register belongs to the OS thread: who changes the rounding mode
 * puts it back before it waits.
 *
 * The way out is a return, not a jump: most switches of the runtime leave and
 * enter at the same place, so the return predictor is right and stays in step
 * with the calls; and a return may go to any address where branch targets are
 * checked (BTI).
 */
#if defined(__aarch64__)

        .text

        .macro  save a, b, at
        stp     \a, \b, [sp, #\at]
        .cfi_rel_offset \a, \at
        .cfi_rel_offset \b, \at + 8
        .endm

        .macro  load a, b, at
        ldp     \a, \b, [sp, #\at]
        .cfi_restore \a
        .cfi_restore \b
        .endm

/* void rn__ctx_asm_switch(void **save, void *enter); */
        .globl  rn__ctx_asm_switch
        .hidden rn__ctx_asm_switch
        .type   rn__ctx_asm_switch, %function
        .p2align 6
rn__ctx_asm_switch:
        .cfi_startproc
        hint    #34             /* bti c */
        sub     sp, sp, #160
        .cfi_adjust_cfa_offset 160
        save    x29, x30, 0
        save    x19, x20, 16
        save    x21, x22, 32
        save    x23, x24, 48
        save    x25, x26, 64
        save    x27, x28, 80
        save    d8, d9, 96
        save    d10, d11, 112
        save    d12, d13, 128
        save    d14, d15, 144
        mov     x9, sp
        str     x9, [x0]
        mov     sp, x1
        /* Both stacks look the same here, so the unwind rules still hold:
         * from now on they describe the context that is entered. */
        load    x29, x30, 0
        load    x19, x20, 16
        load    x21, x22, 32
        load    x23, x24, 48
        load    x25, x26, 64
        load    x27, x28, 80
        load    d8, d9, 96
        load    d10, d11, 112
        load    d12, d13, 128
        load    d14, d15, 144
        add     sp, sp, #160
        .cfi_adjust_cfa_offset -160
        ret
        .cfi_endproc
        .size   rn__ctx_asm_switch, . - rn__ctx_asm_switch

/* Where a new context starts: x19 holds its function, x20 the argument. There
 * is no caller, and the unwind rules say so, which ends every backtrace here.
 * The nop belongs to the function because an unwinder looks one instruction
 * before the address it comes from. */
        .type   rn__ctx_asm_entry, %function
        .p2align 4
        .cfi_startproc
        .cfi_undefined x30
        nop
rn__ctx_asm_entry:
        hint    #34             /* bti c */
        mov     x0, x20
        blr     x19
        brk     #1
        .cfi_endproc
        .size   rn__ctx_asm_entry, . - rn__ctx_asm_entry

/* void *rn__ctx_asm_make(void *top, void (*fn)(void *), void *arg);
 * Lay out a context below top that calls fn(arg); returns its stack pointer.
 * x29 is 0 for those who follow frame pointers. */
        .globl  rn__ctx_asm_make
        .hidden rn__ctx_asm_make
        .type   rn__ctx_asm_make, %function
        .p2align 4
rn__ctx_asm_make:
        .cfi_startproc
        hint    #34             /* bti c */
        and     x0, x0, #-16
        sub     x0, x0, #160
        adr     x9, rn__ctx_asm_entry
        stp     xzr, x9, [x0]
        stp     x1, x2, [x0, #16]
        stp     xzr, xzr, [x0, #32]
        stp     xzr, xzr, [x0, #48]
        stp     xzr, xzr, [x0, #64]
        stp     xzr, xzr, [x0, #80]
        stp     xzr, xzr, [x0, #96]
        stp     xzr, xzr, [x0, #112]
        stp     xzr, xzr, [x0, #128]
        stp     xzr, xzr, [x0, #144]
        ret
        .cfi_endproc
        .size   rn__ctx_asm_make, . - rn__ctx_asm_make

#ifdef __ARM_FEATURE_BTI_DEFAULT
/* Tell the linker that this file keeps the rules of BTI. */
        .section .note.gnu.property, "a"
        .p2align 3
        .word   4, 16, 5
        .asciz  "GNU"
        .word   0xc0000000, 4, 1, 0
#endif

#endif

        .section .note.GNU-stack, "", %progbits
