import { AppError, boolean, type Operation, operation, string } from '@hermod/protocol'
import { describe, expect, it } from 'vitest'
import { EventLoopBudget } from '../lib/concurrency/event-loop-budget.js'
import type { FileAnswer } from '../lib/system/file-answer.js'
import { unlimited } from './allowance.js'
import { type Call, data, handleDownload, handleUpload, type UploadParameters } from './call.js'
import { noCallLimits } from './call-limits.js'
import { asEnvelope, Executor } from './executor.js'
import { FileCalls } from './file-calls.js'

const shared = {
  tag: 'Tests',
  summary: 'Tests.',
  callers: 'anyone',
  scopes: [],
  data: boolean(),
} as const
const download = operation({
  ...shared,
  id: 'test.download',
  methods: ['GET'],
  path: '/test/file',
  query: { name: string() },
  answersFile: true,
})
const upload = operation({
  ...shared,
  id: 'test.upload',
  methods: ['POST'],
  path: '/test/upload',
  takesFile: { maxBytes: 1_000 },
})
const [downloadOperation, uploadOperation] = [download, upload] as readonly unknown[] as [
  Operation,
  Operation,
]

const file = { kind: 'redirect', location: 'https://files.example.org/1' } as FileAnswer

/** An executor of one download and one upload, and the steps of its callers' allowances. */
function setUp({ isInDebt = false } = {}) {
  const steps: string[] = []
  const executor = new Executor({
    handlers: [
      handleDownload(download, async () => file),
      handleUpload(upload, async (_, { upload: { length } }) => {
        if (length === null) throw new AppError('malformed_request', 'the body ended early')
        steps.push(`upload of ${length} bytes`)
        return data(true)
      }),
    ],
    authenticator: {
      requireApp: () => {},
      findAdminToken: () => null,
      findUserToken: () => null,
      findSigner: async () => null,
      findTicket: async () => null,
      isOperatorToken: async () => false,
    },
    users: { requireUser: () => {} },
    limits: {
      ...noCallLimits,
      authenticated: () => ({
        ...unlimited,
        requireFileBytes() {
          if (isInDebt) throw new AppError('too_many_requests')
        },
        charge(tokens) {
          if (tokens !== 0) steps.push(`${tokens} token`)
        },
        chargeFileBytes: (bytes) => void steps.push(`charge ${bytes}`),
        end: () => void steps.push('end'),
      }),
    },
    budget: new EventLoopBudget({ perTurn: 1 }),
    observer: { finished: () => {}, failed: () => {} },
    checkAnswers: true,
  })
  return { executor, files: new FileCalls(executor), steps }
}

const call: Call = {
  requestId: 'request-1',
  address: '192.0.2.1',
  userAgent: 'tests',
  baseUrl: 'https://chat.example.org',
  query: { name: 'one' },
  body: () => undefined,
  credentials: {
    appId: 'home',
    accessToken: undefined,
    userId: undefined,
    groupId: undefined,
  },
}
const incoming: UploadParameters = {
  length: 7,
  form: () => Promise.reject(new Error('must not be read')),
}

const failure = (errorName: string) => ({ kind: 'failure', error: { errorName } })

describe('an operation that moves files', () => {
  it('is refused by name on a transport without files', async () => {
    const { executor, steps } = setUp()
    for (const each of [downloadOperation, uploadOperation])
      expect(await executor.execute(each, call, asEnvelope)).toMatchObject(failure('http_needed'))
    expect(steps).toEqual(['end', 'end'])
  })

  it('is refused to a caller who has moved too many bytes', async () => {
    const { files, steps } = setUp({ isInDebt: true })
    const replies = [
      await files.send(downloadOperation, call, () => 'opened'),
      await files.receive(uploadOperation, call, asEnvelope, incoming),
    ]
    for (const reply of replies) expect(reply).toMatchObject(failure('too_many_requests'))
    expect(steps).toEqual(['end', 'end'])
  })
})

describe('an upload', () => {
  it('is handed to the handler', async () => {
    const { files, steps } = setUp()
    const reply = await files.receive(uploadOperation, call, asEnvelope, incoming)
    expect(reply).toMatchObject({ kind: 'payload' })
    expect(steps).toEqual(['upload of 7 bytes', 'end'])
  })

  it('that was cut costs a further token', async () => {
    const { files, steps } = setUp()
    const cut = { ...incoming, length: null }
    const reply = await files.receive(uploadOperation, call, asEnvelope, cut)
    expect(reply).toMatchObject(failure('malformed_request'))
    expect(steps).toEqual(['end', '1 token'])
  })
})

describe('a download', () => {
  it('counts until its file is sent, and pays for the bytes', async () => {
    const { executor, files, steps } = setUp()
    const reply = await files.send(downloadOperation, call, (answer) => answer)
    if (reply.kind === 'failure') throw reply.error
    expect(reply.opened).toBe(file)
    let isDrained = false
    const drained = executor.drain().then(() => {
      isDrained = true
    })
    await new Promise(setImmediate)
    expect([steps, isDrained]).toEqual([[], false])
    reply.ended(12)
    await drained
    expect(steps).toEqual(['charge 12', 'end'])
  })

  it('fails, and ends at once, when its file cannot be opened', async () => {
    const { executor, files, steps } = setUp()
    const reply = await files.send(downloadOperation, call, () => {
      throw new AppError('file_not_found')
    })
    expect(reply).toMatchObject(failure('file_not_found'))
    expect(steps).toEqual(['end'])
    await executor.drain()
  })
})
