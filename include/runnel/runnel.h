/* runnel/runnel.h - all of the library: tasks, channels, time, simulator. */
#ifndef RUNNEL_RUNNEL_H
#define RUNNEL_RUNNEL_H

#include <runnel/barrier.h>
#include <runnel/base.h>
#include <runnel/blocking.h>
#include <runnel/cell.h>
#include <runnel/chan.h>
#include <runnel/context.h>
#include <runnel/fault.h>
#include <runnel/finalizer.h>
#include <runnel/future.h>
#include <runnel/hold.h>
#include <runnel/lin.h>
#include <runnel/mutex.h>
#include <runnel/par.h>
#include <runnel/property.h>
#include <runnel/report.h>
#include <runnel/run.h>
#include <runnel/rwmutex.h>
#include <runnel/scope.h>
#include <runnel/select.h>
#include <runnel/sema.h>
#include <runnel/shield.h>
#include <runnel/sim.h>
#include <runnel/stm.h>
#include <runnel/task.h>
#include <runnel/time.h>
#include <runnel/tmvar.h>
#include <runnel/tqueue.h>
#include <runnel/waitgroup.h>
#include <runnel/workgroup.h>

#endif
