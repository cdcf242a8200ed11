import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createClient } from '../index.js'
import type { ConnectionEnd, UploadRequest } from '../ports/transport.js'
import { pageWakeups } from './page-wakeups.js'
import { connectWebSocket } from './web-socket.js'
import { xhrUpload } from './xhr-upload.js'

afterEach(() => {
  vi.unstubAllGlobals()
})

class FakeSocket {
  static readonly OPEN = 1
  static last: FakeSocket
  readyState = 0
  readonly sent: string[] = []
  closedWith: unknown[] = []
  onopen: (() => void) | null = null
  onmessage: ((event: { data: unknown }) => void) | null = null
  onclose: ((event: ConnectionEnd) => void) | null = null

  constructor(
    readonly url: string,
    readonly protocol: string,
  ) {
    FakeSocket.last = this
  }

  send(text: string): void {
    if (this.readyState === 0) throw new Error('InvalidStateError')
    this.sent.push(text)
  }

  close(...args: unknown[]): void {
    this.closedWith = args
  }
}

describe('the WebSocket of a browser', () => {
  let log: string[]

  function connect() {
    vi.stubGlobal('WebSocket', FakeSocket)
    log = []
    const connection = connectWebSocket('ws://x/gateway', {
      open: () => log.push('open'),
      frame: (text) => log.push(`frame ${text}`),
      end: ({ code, reason }) => log.push(`end ${code} ${reason}`),
    })
    return { connection, socket: FakeSocket.last }
  }

  it('passes on text frames, and one end', () => {
    const { connection, socket } = connect()
    expect(socket.protocol).toBe('hermod.v1.json')
    connection.send('too early')
    socket.readyState = 1
    socket.onopen?.()
    connection.send('a')
    socket.onmessage?.({ data: 'b' })
    socket.onclose?.({ code: 4000, reason: 'shutdown' })
    socket.onclose?.({ code: 1006, reason: '' })
    expect(socket.sent).toEqual(['a'])
    expect(log).toEqual(['open', 'frame b', 'end 4000 shutdown'])
  })

  it('passes on a frame of bytes as no JSON', () => {
    const { socket } = connect()
    socket.onmessage?.({ data: new Blob(['{}']) })
    expect(log).toEqual(['frame '])
  })

  it('says nothing more once it is abandoned', () => {
    const { connection, socket } = connect()
    connection.abandon(1000)
    expect(socket.closedWith).toEqual([1000])
    socket.onopen?.()
    socket.onmessage?.({ data: 'x' })
    socket.onclose?.({ code: 1000, reason: '' })
    expect(log).toEqual([])
  })
})

it('connecting where there is no WebSocket, as in Node 20, fails at once by name', async () => {
  vi.stubGlobal('WebSocket', undefined)
  const token = vi.fn(() => new Promise<string>(() => {}))
  const options = { url: 'http://127.0.0.1:1', appId: 'app', userId: 5, token }
  const client = createClient(options)
  await expect(client.connect()).rejects.toMatchObject({ name: 'no_web_socket', retry: false })
  expect(client.connection.getSnapshot().state).toBe('ended')
  expect(token).not.toHaveBeenCalled()
  await client.close()
})

class FakeRequest {
  static last: FakeRequest
  readonly upload: { onprogress?: (event: { loaded: number }) => void } = {}
  status = 0
  responseText = ''
  opened: unknown[] = []
  body: FormData | undefined
  onload = () => {}
  onerror = () => {}
  onabort = () => {}

  constructor() {
    FakeRequest.last = this
  }

  open(...args: unknown[]): void {
    this.opened = args
  }

  send(body: FormData): void {
    this.body = body
  }

  abort(): void {
    this.onabort()
  }
}

describe('an upload of a browser', () => {
  function start(signal = new AbortController().signal) {
    vi.stubGlobal('XMLHttpRequest', FakeRequest)
    const progress: number[] = []
    const request: UploadRequest = {
      url: 'http://x/file/upload?ticket=1',
      method: 'POST',
      fields: { key: 'a', policy: 'b' },
      blob: new Blob(['12345']),
      fileName: 'note.txt',
      onProgress: (sent) => progress.push(sent),
      signal,
    }
    return { answer: xhrUpload(request), progress, request: FakeRequest.last }
  }

  it('sends the fields, then the file, and reports progress up to its size', async () => {
    const { answer, progress, request } = start()
    expect(request.opened).toEqual(['POST', 'http://x/file/upload?ticket=1'])
    expect([...(request.body?.keys() ?? [])]).toEqual(['key', 'policy', 'file'])
    expect(request.body?.get('file')).toMatchObject({ name: 'note.txt', size: 5 })
    request.upload.onprogress?.({ loaded: 3 })
    request.upload.onprogress?.({ loaded: 300 })
    request.status = 200
    request.responseText = '{"code":200}'
    request.onload()
    expect(await answer).toEqual({ status: 200, body: '{"code":200}' })
    expect(progress).toEqual([3, 5])
  })

  it('rejects when the network fails, and when it is aborted', async () => {
    const failed = start()
    failed.request.onerror()
    await expect(failed.answer).rejects.toThrow('no answer')
    const controller = new AbortController()
    const aborted = start(controller.signal)
    controller.abort()
    await expect(aborted.answer).rejects.toThrow('no answer')
  })
})

describe('the wakeups of a page', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date', 'performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('are the network, the return of the page and a sleep; none comes after the end', () => {
    const page = new EventTarget()
    const document = Object.assign(new EventTarget(), { visibilityState: 'hidden' })
    vi.stubGlobal('document', document)
    vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
    vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
    let heard = 0
    const end = pageWakeups.listen(() => heard++)
    document.dispatchEvent(new Event('visibilitychange'))
    expect(heard).toBe(0)
    document.visibilityState = 'visible'
    document.dispatchEvent(new Event('visibilitychange'))
    for (const kind of ['online', 'offline', 'pageshow']) page.dispatchEvent(new Event(kind))
    expect(heard).toBe(4)
    vi.setSystemTime(Date.now() + 3_600_000)
    vi.advanceTimersByTime(5_000)
    expect(heard).toBe(5)
    end()
    page.dispatchEvent(new Event('online'))
    document.dispatchEvent(new Event('visibilitychange'))
    vi.setSystemTime(Date.now() + 3_600_000)
    vi.advanceTimersByTime(5_000)
    expect(heard).toBe(5)
  })
})
