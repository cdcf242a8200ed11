import { readdirSync, readFileSync } from 'node:fs'
import { surplusConnections } from './connections.js'

/** For what the service opens beside connections of callers. */
const reserve = 64
const leastRoom = 8

/**
 * How many connections the descriptors of this process allow for, counted once the rest is open. They leave some to the database, files
 * and other services: without any, nothing can be answered, and a connection that the system accepts is closed again without a word.
 * @param others what the rest may still open, such as connections to a database
 */
export function connectionLimit(others: number): number {
  const limit = descriptorLimit()
  if (limit === null) return Number.POSITIVE_INFINITY
  const free = limit - readdirSync('/proc/self/fd').length - others
  // A limit that is very low is shared.
  return Math.max(leastRoom, free - surplusConnections - Math.min(reserve, Math.floor(free / 3)))
}

/** @returns null where the system does not tell, or has none */
function descriptorLimit(): number | null {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const text = /^Max open files +(\d+)/m.exec(limits)?.[1]
    return text === undefined ? null : Number(text)
  } catch {
    return null
  }
}
