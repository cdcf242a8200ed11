import { resolve } from 'node:path'
import { type Field, option, readAs } from './runtime/fields.js'

/** The option --passphrase-file. @param help a noun phrase; the default is added */
export function passphraseFile(help: string): Field<string | undefined> {
  const text = `${help}; default: that of HERMOD_BACKUP_PASSPHRASE_FILE`
  return readAs(option('--passphrase-file <file>', text), (path: string) => resolve(path))
}
