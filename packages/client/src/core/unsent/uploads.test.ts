import { describe, expect, it } from 'vitest'
import { CoreBench } from '../../../test/support/core-bench.js'
import type { LogAccess } from '../access.js'
import { Unsent } from './unsent.js'

const logs: LogAccess = {
  get: () => undefined,
  needHead: () => undefined,
  setDelivered: () => undefined,
}

const ticket = {
  upload_url: 'https://files.example.org/upload?ticket=t',
  upload_method: 'POST',
  oss_body_param: { key: 'k' },
  download_url: 'https://files.example.org/file/download/chat?file_sign=s',
}

class Bench extends CoreBench {
  constructor() {
    super({ parts: (context) => [new Unsent(context, logs)] })
  }

  send(transactionId: number, attachment = ''): string {
    return this.command({
      type: 'send',
      transactionId,
      conversationId: 7,
      isGroup: true,
      content: { contentType: 1, content: '', attachment, config: '', ext: '' },
      file: { blob: new Blob(['12345']), name: 'five.txt', fileType: 100 },
      createdAt: 1,
    })
  }

  giveTicket(): void {
    this.answer(this.take('file.upload.chat'), ticket)
  }

  end(transactionId: number, body: unknown, status = 200): void {
    const answer = { status, body: typeof body === 'string' ? body : JSON.stringify(body) }
    this.step({ type: 'uploaded', transactionId, answer })
  }

  state(transactionId: number): string | undefined {
    return this.stored.unsent.get(transactionId)?.state
  }

  get uploads(): number {
    return this.effects.filter(({ type }) => type === 'upload').length
  }
}

const started = () => {
  const bench = new Bench()
  bench.open()
  bench.send(1)
  bench.giveTicket()
  return bench
}

describe('a message with a file', () => {
  it('is uploaded with a ticket for its recipient, and sent with its address', () => {
    const bench = new Bench()
    bench.open()
    bench.send(1, '{"width":3,"dName":"five.txt"}')
    const call = bench.take('file.upload.chat')
    expect(call.data).toEqual({ file_type: 100, to_id: 7, to_type: 2 })
    bench.answer(call, ticket)
    expect(bench.effects).toMatchObject([
      {
        type: 'upload',
        transactionId: 1,
        url: ticket.upload_url,
        method: 'POST',
        fields: { key: 'k' },
        fileName: 'five.txt',
      },
    ])
    bench.end(1, { data: true })
    const { data } = bench.take('message.send')
    expect(JSON.parse(data.attachment)).toEqual({
      url: ticket.download_url,
      dName: 'five.txt',
      width: 3,
    })
    expect(bench.stored.unsent.get(1)).not.toHaveProperty('file')
  })

  it('is uploaded when a callback of a store says OK', () => {
    const bench = started()
    bench.end(1, { Status: 'OK' })
    expect(bench.state(1)).toBe('sending')
  })

  it('shows its progress until the upload ends', () => {
    const bench = started()
    bench.step({ type: 'uploadProgress', transactionId: 1, sentBytes: 3 })
    expect(bench.live.uploads).toEqual({ 1: { sent: 3, total: 5 } })
    bench.end(1, { data: true })
    expect(bench.live.uploads).toEqual({})
  })

  it('does not hold up the messages behind it', () => {
    const bench = started()
    bench.command({
      type: 'send',
      transactionId: 2,
      conversationId: 7,
      isGroup: true,
      content: { contentType: 0, content: 'later', attachment: '', config: '', ext: '' },
      createdAt: 1,
    })
    expect(bench.take('message.send').data.transaction_id).toBe(2)
  })

  it.each([
    ['no answer', undefined],
    ['an expired ticket', { code: 14008, message: 'expired' }],
    ['a full disk', { code: 14013, message: 'full' }],
    ['a page of a proxy', '<html>'],
  ])('is uploaded again with another ticket after %s', (_, body) => {
    const bench = started()
    if (body === undefined) bench.step({ type: 'uploaded', transactionId: 1 })
    else bench.end(1, body)
    expect(bench.state(1)).toBe('uploading')
    bench.advance(2_000)
    bench.giveTicket()
    expect(bench.uploads).toBe(2)
    bench.end(1, { data: true })
    expect(bench.state(1)).toBe('sending')
  })

  it('fails when the server refuses the file, the ticket, or every try', () => {
    const refused = started()
    refused.end(1, { code: 14003, message: 'too large' })
    expect(refused.stored.unsent.get(1)).toMatchObject({
      state: 'failed',
      failure: { code: 14003, name: 'file_too_large', retry: false },
    })

    const blocked = new Bench()
    blocked.open()
    blocked.send(1)
    blocked.refuse(blocked.take('file.upload.chat'), 20002, 'not_group_member')
    expect(blocked.stored.unsent.get(1)?.failure?.name).toBe('not_group_member')

    const cut = started()
    for (let tries = 1; tries < 8; tries++) {
      cut.step({ type: 'uploaded', transactionId: 1 })
      while (cut.calls.length === 0) cut.advance(1_000)
      cut.giveTicket()
    }
    cut.step({ type: 'uploaded', transactionId: 1 })
    expect(cut.stored.unsent.get(1)?.failure).toMatchObject({ name: 'upload_failed', retry: true })
    cut.command({ type: 'retry', transactionId: 1 })
    expect(cut.state(1)).toBe('uploading')
    cut.giveTicket()
  })

  it('is uploaded again after a reload', () => {
    const bench = started()
    bench.restart()
    bench.open()
    bench.giveTicket()
    bench.end(1, { data: true })
    expect(bench.state(1)).toBe('sending')
  })

  it('ends with its upload when it is discarded', () => {
    const bench = started()
    bench.command({ type: 'discard', transactionId: 1 })
    expect(bench.effects.at(-1)).toEqual({ type: 'cancelUpload', transactionId: 1 })
    expect(bench.stored.unsent.size).toBe(0)
    expect(bench.live.uploads).toEqual({})
    bench.end(1, { data: true })
    expect(bench.calls).toEqual([])
  })
})

it('three files are uploaded side by side', () => {
  const bench = new Bench()
  for (const id of [1, 2, 3, 4]) bench.send(id)
  bench.open()
  for (let count = 0; count < 3; count++) bench.giveTicket()
  expect(bench.calls).toEqual([])
  bench.end(2, { data: true })
  bench.giveTicket()
  expect(bench.uploads).toBe(4)
})
