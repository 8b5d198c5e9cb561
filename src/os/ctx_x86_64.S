/* os/ctx_x86_64.S - leave one stack and enter another, on x86-64.
 *
 * A context that is not running is a stack pointer; it points at its saved
 * registers:
 *
 *      sp + 0  r15      sp + 24  r12      sp + 48  where to go on
 *      sp + 8  r14      sp + 32  rbx
 *      sp + 16 r13      sp + 40  rbp
 *
 * Only what a called function must preserve is saved. The control words of
 * the x87 and SSE units (mxcsr) are also preserved by convention, but belong
 * to the OS thread here: loading them doubles the price of a switch, and next
 * to no program changes them. Who changes the rounding mode puts it back
 * before it waits.
 *
 * The way out is a return, not a jump through a register, although the return
 * predictor expects the context that was left. Most switches of the runtime
 * leave and enter at the same place, so its guess is right; and a jump would
 * leave its stack one off, so that every later return up to the task's own
 * code would be mispredicted (measured three calls deep: 5 ns a switch with a
 * return, 22 with a jump).
 *
 * Shadow stacks (CET) are not switched, so this file does not claim to support
 * them, and the linker then leaves them off.
 */
#if defined(__x86_64__) && !defined(__ILP32__)

        .text

/* void rn__ctx_asm_switch(void **save, void *enter); */
        .globl  rn__ctx_asm_switch
        .hidden rn__ctx_asm_switch
        .type   rn__ctx_asm_switch, @function
        .p2align 6
rn__ctx_asm_switch:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r12, 0
        pushq   %r13
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r13, 0
        pushq   %r14
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r14, 0
        pushq   %r15
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r15, 0
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        /* Both stacks look the same here, so the unwind rules still hold:
         * from now on they describe the context that is entered. */
        popq    %r15
        .cfi_adjust_cfa_offset -8
        .cfi_restore r15
        popq    %r14
        .cfi_adjust_cfa_offset -8
        .cfi_restore r14
        popq    %r13
        .cfi_adjust_cfa_offset -8
        .cfi_restore r13
        popq    %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore r12
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbx
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbp
        ret
        .cfi_endproc
        .size   rn__ctx_asm_switch, . - rn__ctx_asm_switch

/* Where a new context starts: r12 holds its function, r13 the argument. There
 * is no caller, and the unwind rules say so, which ends every backtrace here.
 * The nop belongs to the function because an unwinder looks one byte before
 * the address it comes from. */
        .type   rn__ctx_asm_entry, @function
        .p2align 4
        .cfi_startproc
        .cfi_undefined rip
        nop
rn__ctx_asm_entry:
        endbr64
        movq    %r13, %rdi
        callq   *%r12
        ud2
        .cfi_endproc
        .size   rn__ctx_asm_entry, . - rn__ctx_asm_entry

/* void *rn__ctx_asm_make(void *top, void (*fn)(void *), void *arg);
 * Lay out a context below top that calls fn(arg); returns its stack pointer.
 * The stack is aligned to 16 at the call, and rbp is 0 for those who follow
 * frame pointers. */
        .globl  rn__ctx_asm_make
        .hidden rn__ctx_asm_make
        .type   rn__ctx_asm_make, @function
        .p2align 4
rn__ctx_asm_make:
        .cfi_startproc
        endbr64
        andq    $-16, %rdi
        leaq    -64(%rdi), %rax
        leaq    rn__ctx_asm_entry(%rip), %rcx
        movq    %rcx, 56(%rax)
        xorl    %ecx, %ecx
        movq    %rcx, 48(%rax)
        movq    %rcx, 40(%rax)
        movq    %rsi, 32(%rax)
        movq    %rdx, 24(%rax)
        movq    %rcx, 16(%rax)
        movq    %rcx, 8(%rax)
        addq    $8, %rax
        ret
        .cfi_endproc
        .size   rn__ctx_asm_make, . - rn__ctx_asm_make

#endif

        .section .note.GNU-stack, "", %progbits
