import { isAbsolute } from 'node:path'
import {
  type Passphrase,
  PassphraseFileError,
  readPassphraseFile,
} from '../../lib/secrets/passphrase-file.js'
import { BackupError } from '../backup-error.js'

/** Reads the passphrase of a file. @param source the option that names it. @throws BackupError */
export function readPassphrase(path: string, source: string): Passphrase {
  try {
    return { text: readPassphraseFile(path), source }
  } catch (error) {
    if (!(error instanceof PassphraseFileError)) throw error
    throw new BackupError(`${source}: ${path} ${error.message}`)
  }
}

/** Reads the passphrase of a file that an operation names. @throws BackupError */
export function readOrderedPassphrase(path: string): Passphrase {
  if (!isAbsolute(path)) throw new BackupError('the field passphrase_file must be an absolute path')
  return readPassphrase(path, '--passphrase-file (field passphrase_file)')
}
