import { randomInt } from 'node:crypto'

const letters = 'abcdefghijkmnpqrstuvwxyz23456789'
const suffixLength = 10

/** Returns a username with this prefix that is almost certainly free. */
export function generatedUsername(prefix: string): string {
  const suffix = Array.from({ length: suffixLength }, () => letters[randomInt(letters.length)])
  return `${prefix}_${suffix.join('')}`
}
