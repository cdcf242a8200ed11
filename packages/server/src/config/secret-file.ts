/** Secrets in files: each setting that is a secret may be given as the path of a file that has it. */
import type { Option } from './options.js'

/** Reads a text file; throws when it cannot be read. */
export type ReadFile = (path: string) => string

/** Returns the name of the setting that names the file of a secret. */
export function secretFileName({ name }: Option): string {
  return `${name}_FILE`
}

/** Returns a path for examples: the place of secrets in containers. */
export function exampleSecretFile({ name }: Option): string {
  return `/run/secrets/${name.replace('HERMOD_', '').toLowerCase().replaceAll('_', '-')}`
}

/** Paths that no secret looks like. */
const isPlace = /^\.{0,2}\//

/**
 * Reads the secret of the file that a setting names; white space around it, such as a last line end,
 * is left out.
 *
 * @returns the decoded value, or the end of a sentence that begins with the name of the setting
 */
export function readSecretFile(
  option: Option,
  path: unknown,
  readFile: ReadFile,
): { readonly value: unknown } | string {
  const file = typeof path === 'string' ? path.trim() : ''
  if (file === '') return `must be the path of a file; for example ${exampleSecretFile(option)}`
  let text: string
  try {
    text = readFile(file).trim()
  } catch (error) {
    // An operator who confuses the two settings gives the secret itself, which no message may show.
    return isPlace.test(file)
      ? `names ${file}, which cannot be read: ${(error as Error).message}`
      : `names no file that can be read; without _FILE the setting takes the secret itself, with it a path such as ${exampleSecretFile(option)} or ./name`
  }
  const value = option.decode(text)
  if (value !== undefined) return { value }
  const subject = text === '' ? 'which is empty; its text' : 'whose text'
  const problem = option.problem?.(text) ?? `must be ${option.accepts}`
  return `names ${file}, ${subject} ${problem}; for example ${withoutShell(option.example)}`
}

/** The example where no shell replaces the command in it. */
export function withoutShell(example: string): string {
  return example.replace(/\$\((.*)\)/, '<output of $1>')
}
