import type { CompiledQuery } from '../kysely.js'
import type { StatementRunner } from './cache-check.js'

/** The statements of one transaction. */
export interface WatchedStatements {
  /** To be called before the commit. @throws Error when a statement was not waited for */
  requireEnd(): void
}

/**
 * Makes statements errors that nobody waits for: what they answer is lost, and what they refuse is committed without them. For
 * development and tests; without it transactions are not watched.
 *
 * @param runner of one transaction, which is watched from now on
 */
export function watchStatements(runner: StatementRunner): WatchedStatements {
  const running = new Set<CompiledQuery>()
  const execute = runner.executeQuery.bind(runner)
  runner.executeQuery = async <Row>(query: CompiledQuery<Row>) => {
    running.add(query)
    try {
      return await execute<Row>(query)
    } finally {
      running.delete(query)
    }
  }
  return {
    requireEnd() {
      const [forgotten] = running
      if (forgotten) throw new Error(`nobody has waited for a statement: ${forgotten.sql}`)
    },
  }
}
