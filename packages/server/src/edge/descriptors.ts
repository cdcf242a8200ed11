import { readdirSync, readFileSync } from 'node:fs'
import { surplusConnections } from './connections.js'

/** Descriptors for what the service opens in addition to connections of callers. */
const reserve = 64
const minConnections = 8

/**
 * The number of connections that the descriptors of this process allow for, counted once the rest
 * is open. Some descriptors stay for the database, files and other services: without any, every
 * call fails, and the system closes accepted connections without a word.
 * @param others descriptors that the rest may still open, such as connections to a database
 */
export function connectionLimit(others: number): number {
  const limit = descriptorLimit()
  if (limit === null) return Number.POSITIVE_INFINITY
  const free = limit - readdirSync('/proc/self/fd').length - others
  // A very low limit is shared.
  return Math.max(
    minConnections,
    free - surplusConnections - Math.min(reserve, Math.floor(free / 3)),
  )
}

/** @returns null where the system has no limit or does not publish it */
function descriptorLimit(): number | null {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const text = /^Max open files +(\d+)/m.exec(limits)?.[1]
    return text === undefined ? null : Number(text)
  } catch {
    return null
  }
}
