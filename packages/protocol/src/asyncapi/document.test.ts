import { Parser } from '@asyncapi/parser'
import { describe, expect, it } from 'vitest'
import { lookUp, nodesOf } from '../../test/document-nodes.js'
import { deviceEventKinds } from '../gateway/index.js'
import { operations, sendMessage } from '../operations/index.js'
import { asyncApiDocument } from './document.js'

const document = asyncApiDocument({
  version: '1.2.3',
  builtOperationIds: new Set(operations.map(({ id }) => id)),
  serverUrl: 'https://im.example/chat/',
})
/** What a client receives, free of anything that JSON cannot carry. */
const served = JSON.parse(JSON.stringify(document)) as typeof document

/** Operations whose calls stand for all in the quick run: a second of the parser for every fifteen. */
const sample = [
  'message.send',
  'message.sync',
  'presence.subscribe',
  'user.device.list',
  'group.create',
]

describe('the AsyncAPI document', () => {
  it('is valid for the official parser', async () => {
    const isFull = process.env.HERMOD_TEST_FULL === 'on'
    const parsed = isFull
      ? document
      : asyncApiDocument({ version: '1.2.3', builtOperationIds: new Set(sample) })
    const { diagnostics } = await new Parser().parse(JSON.stringify(parsed))
    expect(diagnostics).toEqual([])
  }, 300_000)

  it('is plain JSON: nothing is lost or changed when it is served', () => {
    expect(served).toEqual(document)
  })

  it('resolves every reference', () => {
    const references = nodesOf(served).flatMap(({ $ref }) =>
      typeof $ref === 'string' ? [$ref] : [],
    )
    expect(references.length).toBeGreaterThan(100)
    expect(references.filter((reference) => lookUp(served, reference) === undefined)).toEqual([])
  })

  it('has a message for every kind of event, and a heartbeat', () => {
    const sent = Object.entries(served.operations).filter(([, { action }]) => action === 'send')
    const own = ['heartbeat', 'sync.needed', 'session.closing']
    expect(sent.map(([name]) => name).sort()).toEqual(
      [...deviceEventKinds, ...own].map((kind) => `event.${kind}`).sort(),
    )
  })

  it('has the calls that the socket carries, and none with a file or of an operator', () => {
    const calls = Object.entries(served.operations).filter(([, { action }]) => action === 'receive')
    const names = calls.map(([name]) => name)
    expect(names).toEqual(expect.arrayContaining(['session.open', 'message.send', 'group.kick']))
    expect(names).toEqual(expect.arrayContaining(['presence.subscribe', 'file.upload.chat']))
    const needingHttp = ['file.upload', 'file.download.chat', 'operator.app.list']
    expect(names.filter((name) => needingHttp.includes(name))).toEqual([])
  })

  it('leaves out operations that are not built', () => {
    const { operations: described } = asyncApiDocument({
      version: '1',
      builtOperationIds: new Set([sendMessage.id]),
    })
    const calls = Object.entries(described).filter(([, { action }]) => action === 'receive')
    expect(calls.map(([name]) => name)).toEqual(['session.open', 'message.send'])
  })

  it('shows a call with all parameters in data, and its answer as an envelope', () => {
    const example = (name: string) => served.components.messages[name]?.examples[0]?.payload
    expect(example('message.send')).toMatchObject({
      id: 1001,
      op: 'message.send',
      data: { content: 'Hello', content_type: 0, targets: [1001], type: 1 },
    })
    expect(example('message.send.answer')).toEqual({
      id: 1001,
      code: 200,
      message: null,
      data: true,
    })
    expect(example('event.sync.needed')).toEqual({ event: 'sync.needed' })
  })

  it('names the public address of the service', () => {
    expect(served.servers.gateway).toMatchObject({
      host: 'im.example',
      protocol: 'wss',
      pathname: '/chat',
    })
  })
})
