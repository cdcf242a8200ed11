import { type AppError, operationsById } from '@hermod/protocol'
import type { LocalCalls } from '../commands/runtime/call.js'
import { createLog } from '../observability/log.js'
import { asValue } from '../pipeline/executor.js'
import { operatorPrincipal } from '../pipeline/principal.js'
import { openContext } from './context.js'
import { erasesTextsAtEnd } from './text-erasures.js'

/**
 * Operator operations in this process, on the database; the user of the command is the operator.
 * Work that a deletion leaves to a server is done before the process ends, since there may be no
 * server for a long time.
 */
export const openLocalCalls: LocalCalls = async ({ config, secrets }) => {
  const context = await openContext({ config, secrets, log: createLog('silent'), isCommand: true })
  const eraseTexts = erasesTextsAtEnd(context)
  const caller = {
    requestId: 'command',
    address: 'local',
    userAgent: 'hermod command',
    baseUrl: '',
    principal: operatorPrincipal,
    query: {},
  }
  return {
    isLocal: true,
    async call(operationId, params) {
      const operation = operationsById.get(operationId)
      if (!operation) throw new Error(`there is no operation ${operationId}`)
      const call = { ...caller, body: () => params }
      const reply = await context.executor.execute(operation, call, asValue)
      if (reply.kind === 'payload') return { code: 200, data: reply.encoded.data, message: null }
      if (reply.kind === 'failure') return refusedAnswer(reply.error)
      throw new Error(`${operationId} answers a file`)
    },
    async close() {
      try {
        await eraseTexts()
      } finally {
        await context.stop()
      }
    },
  }
}

function refusedAnswer({ entry, message }: AppError) {
  return { code: entry.code, data: null, message }
}
