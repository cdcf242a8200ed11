import { AppError } from '@hermod/protocol'
import { BackupError } from '../../backup/backup-error.js'

/** Returns the answer to an operator whose order cannot be followed. */
export function refused(detail: string): AppError {
  return new AppError('backup_refused', detail)
}

/** Runs the checks of an order. @throws AppError backup_refused for a BackupError */
export async function refusing<T>(work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof BackupError ? refused(error.message) : error
  }
}
