import { readFileSync, statSync } from 'node:fs'

/** A passphrase, and what it was named by. */
export interface Passphrase {
  readonly text: string
  /** The option or the setting. */
  readonly source: string
}

/** A file has no passphrase that may be used; the message is the end of a sentence about the file. */
export class PassphraseFileError extends Error {
  override readonly name = 'PassphraseFileError'
}

const minLength = 12
const maxBytes = 1024

/**
 * Reads the passphrase of a file, which is its only line.
 * @throws PassphraseFileError
 */
export function readPassphraseFile(path: string): string {
  requireOwn(path)
  const text = textOf(reading(() => readFileSync(path))).replace(/\r?\n$/, '')
  if (text === '') throw new PassphraseFileError('is empty; it needs a passphrase in one line')
  if (/[\r\n]/.test(text)) throw new PassphraseFileError('must have one line, the passphrase')
  requireVisible(text)
  const length = [...text].length
  if (length < minLength)
    throw new PassphraseFileError(
      `has a passphrase of ${length} characters, and it needs ${minLength} at least; make one with openssl rand -base64 24`,
    )
  return text
}

/** Other bytes would all become one character. Letters have one form, whatever typed them. */
function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes).normalize('NFC')
  } catch {
    throw new PassphraseFileError(
      'is no text in UTF-8; make a passphrase with openssl rand -base64 24',
    )
  }
}

/** Refuses characters that a person who types the passphrase again would leave out. */
function requireVisible(text: string): void {
  const problem = text.startsWith('\ufeff')
    ? 'begins with a byte order mark'
    : text !== text.trim()
      ? 'has white space at an end of its passphrase'
      : /\p{Cc}/u.test(text)
        ? 'has a control character'
        : null
  if (problem !== null)
    throw new PassphraseFileError(`${problem}, which nobody sees; write the file again without it`)
}

/** The rules of PostgreSQL for the file of a key: only root may share it, with a group. */
function requireOwn(path: string): void {
  const stats = reading(() => statSync(path))
  if (!stats.isFile()) throw new PassphraseFileError('is no file')
  const forbidden = stats.uid === process.geteuid?.() ? 0o077 : 0o007
  if (process.platform !== 'win32' && (stats.mode & forbidden) !== 0)
    throw new PassphraseFileError(
      `can be read by other users (mode ${(stats.mode & 0o777).toString(8)}); give it the mode 600 with chmod 600 ${path}`,
    )
  if (stats.size > maxBytes)
    throw new PassphraseFileError(`has ${stats.size} bytes, and may have ${maxBytes}`)
}

function reading<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new PassphraseFileError(`cannot be read: ${(error as Error).message}`)
  }
}
