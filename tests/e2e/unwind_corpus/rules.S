/*
 * Every kind of rule that .eh_frame has, in functions that do what their rules say: each is stepped through.
 * rules() calls the others in turn.
 */
	.text

/* rbx kept in a register; the return address, too, while it is off the stack. */
	.globl	rule_register
	.type	rule_register, @function
rule_register:
	.cfi_startproc
	movq	%rbx, %r11
	.cfi_register rbx, r11
	movq	$1, %rbx
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rcx
	nop
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	.cfi_offset rip, -8
	movq	%r11, %rbx
	.cfi_restore rbx
	ret
	.cfi_endproc
	.size	rule_register, . - rule_register

/* The CFA by a register that is neither rsp nor rbp, and rsp away meanwhile. */
	.globl	rule_cfa_register
	.type	rule_cfa_register, @function
rule_cfa_register:
	.cfi_startproc
	leaq	8(%rsp), %rax
	.cfi_def_cfa rax, 0
	subq	$200, %rsp
	andq	$-64, %rsp
	nop
	leaq	-8(%rax), %rsp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	rule_cfa_register, . - rule_cfa_register

/* The CFA by an expression: what stands at rsp + 16 (DW_OP_breg7 16, DW_OP_deref). */
	.globl	rule_cfa_expression
	.type	rule_cfa_expression, @function
rule_cfa_expression:
	.cfi_startproc
	leaq	8(%rsp), %rdx
	subq	$40, %rsp
	.cfi_adjust_cfa_offset 40
	movq	%rdx, 16(%rsp)
	.cfi_escape 0x0f, 3, 0x77, 16, 0x06
	nop
	movq	$0, (%rsp)
	addq	$40, %rsp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	rule_cfa_expression, . - rule_cfa_expression

/* rbp by an expression for its place (CFA - 24), rbx by one for its value (what is in r10, less 5). */
	.globl	rule_expressions
	.type	rule_expressions, @function
rule_expressions:
	.cfi_startproc
	subq	$32, %rsp
	.cfi_adjust_cfa_offset 32
	movq	%rbp, 16(%rsp)
	.cfi_escape 0x10, 6, 2, 0x38, 0x1c
	movl	$3, %ebp
	leaq	5(%rbx), %r10
	.cfi_escape 0x16, 3, 4, 0x7a, 0, 0x35, 0x1c
	movl	$4, %ebx
	nop
	leaq	-5(%r10), %rbx
	.cfi_restore rbx
	movq	16(%rsp), %rbp
	.cfi_restore rbp
	addq	$32, %rsp
	.cfi_adjust_cfa_offset -32
	ret
	.cfi_endproc
	.size	rule_expressions, . - rule_expressions

/* States remembered and restored, one inside the other, the CFA with them. */
	.globl	rule_remember
	.type	rule_remember, @function
rule_remember:
	.cfi_startproc
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbx, -16
	xorl	%ebx, %ebx
	.cfi_remember_state
	testl	%edi, %edi
	jne	1f
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	ret
1:
	.cfi_restore_state
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_offset r12, -24
	.cfi_remember_state
	movl	$7, %r12d
	popq	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore r12
	.cfi_remember_state
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	jmp	2f
	.cfi_restore_state
	nop
	.cfi_restore_state
	nop
2:
	.cfi_def_cfa rsp, 8
	.cfi_restore rbx
	.cfi_restore r12
	ret
	.cfi_endproc
	.size	rule_remember, . - rule_remember

/* Rows far apart: advances of one, two and four bytes; and rsp by a value (CFA + 0), DW_CFA_val_offset. */
	.globl	rule_far
	.type	rule_far, @function
rule_far:
	.cfi_startproc
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbx, -16
	.cfi_val_offset rsp, 0
	jmp	1f
	.skip	200, 0x90
1:	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbp, -24
	jmp	2f
	.skip	3000, 0x90
2:	movl	$9, %ebp
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	jmp	3f
	.skip	70000, 0x90
3:	xorl	%ebx, %ebx
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	ret
	.cfi_endproc
	.size	rule_far, . - rule_far

/* Another return column, and arguments popped by the callee's side of the tables (DW_CFA_GNU_args_size). */
	.globl	rule_args_size
	.type	rule_args_size, @function
rule_args_size:
	.cfi_startproc
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	.cfi_escape 0x2e, 8
	nop
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	.cfi_escape 0x2e, 0
	ret
	.cfi_endproc
	.size	rule_args_size, . - rule_args_size

/* No table, but a frame pointer. */
	.globl	rule_none
	.type	rule_none, @function
rule_none:
	pushq	%rbp
	movq	%rsp, %rbp
	subq	$32, %rsp
	xorl	%edi, %edi
	call	rule_remember
	leave
	ret
	.size	rule_none, . - rule_none

	.globl	rules
	.type	rules, @function
rules:
	.cfi_startproc
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	rule_register
	call	rule_cfa_register
	call	rule_cfa_expression
	call	rule_expressions
	xorl	%edi, %edi
	call	rule_remember
	movl	$1, %edi
	call	rule_remember
	call	rule_far
	call	rule_args_size
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	rules, . - rules

	.section .note.GNU-stack, "", @progbits
