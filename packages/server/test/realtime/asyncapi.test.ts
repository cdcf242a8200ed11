import { Parser } from '@asyncapi/parser'
import { isFullRun, type ServerProcess, startServer } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let server: ServerProcess

beforeAll(async () => {
  server = await startServer()
})

afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
})

describe('/asyncapi.json', () => {
  it('describes the gateway with the calls that are built, and its page links to it', async () => {
    const answer = await server.api.call('GET', '/asyncapi.json')
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
    const document = JSON.parse(answer.text)
    expect(document).toMatchObject({
      asyncapi: '3.1.0',
      channels: { gateway: { address: '/gateway' } },
      operations: { 'session.open': { action: 'receive' }, 'message.send': { action: 'receive' } },
    })
    expect((await server.api.call('GET', '/docs')).text).toContain('href="asyncapi.json"')
  })

  // The parser takes half a minute for the document.
  if (isFullRun)
    it('is valid for the official parser', { timeout: 300_000 }, async () => {
      const { text } = await server.api.call('GET', '/asyncapi.json')
      const { diagnostics } = await new Parser().parse(text)
      expect(diagnostics).toEqual([])
    })
})
