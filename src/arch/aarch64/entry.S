/* SPDX-License-Identifier: MIT */
/*
 * Where a new goroutine begins: frame_switch has set sp to a 16-aligned top
 * of stack, x29 to 0 and left the frame in x1. The unwinder is told that
 * there is no caller. The registers that goroutine_main saves are cleared:
 * else its frame would hold, until it ends, what they had of the previous
 * goroutine, maybe pointers to its thread (preempt.c, point 5).
 */
	.text
	.globl	frame_entry
	.hidden	frame_entry
	.type	frame_entry, %function
frame_entry:
	.cfi_startproc
	.cfi_undefined x30
	mov	x19, xzr
	mov	x20, xzr
	mov	x21, xzr
	mov	x22, xzr
	mov	x23, xzr
	mov	x24, xzr
	mov	x25, xzr
	mov	x26, xzr
	mov	x27, xzr
	mov	x28, xzr
	mov	x0, x1
	mov	x30, xzr
	bl	goroutine_main
	brk	#1			/* it never returns */
	.cfi_endproc
	.globl	frame_entry_end
	.hidden	frame_entry_end
frame_entry_end:
	.size	frame_entry, . - frame_entry
	.section .note.GNU-stack, "", %progbits
