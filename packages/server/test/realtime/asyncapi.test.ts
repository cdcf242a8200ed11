import { Parser } from '@asyncapi/parser'
import { operations } from '@hermod/protocol'
import { type AsyncApiDocument, asyncApiDocument } from '@hermod/protocol/asyncapi'
import { isFullRun } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'

function documentOf(ids: readonly string[]) {
  return asyncApiDocument({ version: '1.2.3', builtOperationIds: new Set(ids) })
}
async function faultsOf(document: AsyncApiDocument): Promise<string[]> {
  const { diagnostics } = await new Parser().parse(JSON.stringify(document))
  return diagnostics.map(({ message, path }) => `${path.join('.')}: ${message}`)
}

describe('x', () => {
  it('valid', async () => {
    for (const ids of [[], ['message.send'], ['message.send', 'group.kick']]) {
      const a = performance.now()
      console.log(await faultsOf(documentOf(ids)), performance.now() - a)
    }
    const d = JSON.parse(JSON.stringify(documentOf(['message.send'])))
    d.components.messages['message.send'].examples[0].payload.id = true
    d.operations['message.send'].messages[0].$ref = '#/components/messages/message.send'
    console.log(await faultsOf(d))
  })
})
