/** Why a backup failed or a target cannot be used, as a sentence for the operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

/** Problems that an error names. */
const maxNamed = 5

/** The failure of a backup that is not as it was made. */
export function damaged(folder: string, problems: readonly string[]): BackupError {
  const named = problems.slice(0, maxNamed).join('; ')
  const more = problems.length > maxNamed ? `; and ${problems.length - maxNamed} more` : ''
  return new BackupError(
    `the backup ${folder} is damaged: ${named}${more}; restore another one, and make a new one with hermod backup create`,
  )
}

/** Why a folder cannot be used, by the code of the system. */
const reasons: Readonly<Record<string, string>> = {
  ENOTDIR: 'it is a file, or is below one; name a folder',
  EACCES: 'this user has no right to it; give it to the user of the service',
  EPERM: 'this user has no right to it; give it to the user of the service',
  EROFS: 'its disk is read only; mount it for writing, or name another folder',
}

const fullCodes = ['ENOSPC', 'EDQUOT', 'EFBIG']

/** Returns a failure of the file system in the target as a sentence; other errors as they are. */
export function targetError(folder: string, error: unknown): Error {
  const { code = '', message } = error as NodeJS.ErrnoException
  // The text of SQLite, whose code is that of any failure.
  const isFull = fullCodes.includes(code) || message.includes('disk is full')
  if (error instanceof BackupError || !(isFull || /^E[A-Z]+$/.test(code))) return error as Error
  const text = isFull
    ? `the disk of ${folder} is full; make room there, or remove backups with hermod backup prune`
    : `the backup folder ${folder} cannot be used: ${reasons[code] ?? message}`
  return new BackupError(text, { cause: error })
}
