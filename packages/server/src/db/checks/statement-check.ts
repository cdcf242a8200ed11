import type { CompiledQuery } from '../kysely.js'
import type { StatementRunner } from './cache-check.js'

/** The statements of one transaction. */
export interface WatchedStatements {
  /** Called before the commit. @throws Error when a statement was not awaited */
  requireEnd(): void
}

/**
 * Makes a commit before all statements are awaited an error: their results are lost, and the rest
 * is committed although one may fail. For development and tests; without it transactions are not
 * watched.
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
      if (forgotten) throw new Error(`a statement was not awaited: ${forgotten.sql}`)
    },
  }
}
