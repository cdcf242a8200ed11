import { constants, setPriority } from 'node:os'

/** Lets a process run when no other one needs the processor. */
export function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_LOW)
  } catch {
    // It has ended already.
  }
}
