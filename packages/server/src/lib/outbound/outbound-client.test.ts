import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, vi } from 'vitest'
import { KeyedSlots } from '../concurrency/slots.js'
import { parseAddressRange } from './address.js'
import { attemptOrder, type ConnectSocket, openSocket } from './connecting.js'
import {
  ForbiddenAddressError,
  OutboundClient,
  type OutboundOptions,
  urlFault,
} from './outbound-client.js'

const setting = 'HERMOD_OUTBOUND_ALLOW'
const newShares = () =>
  new KeyedSlots(() => ({
    parallel: 4,
    maxWaiting: Number.POSITIVE_INFINITY,
    full: () => new Error('too many'),
  }))

/** A client with a connector that records addresses and connects to none. */
function recordingClient(options: Partial<OutboundOptions> = {}) {
  const connections: string[] = []
  const connect: ConnectSocket = async ({ address }) => {
    connections.push(address)
    throw new Error('recorded')
  }
  const client = new OutboundClient({
    allowed: [],
    setting,
    proxy: null,
    lookUpShares: newShares(),
    connect,
    ...options,
  })
  const post = (url: string, share = '') =>
    client.post({ url, headers: {}, body: '{}', timeoutMs: 5_000, share })
  return { connections, post }
}

/** Returns the result of a request, and the addresses that it was to connect to. */
async function attempt(url: string, options: Partial<OutboundOptions> = {}) {
  const { connections, post } = recordingClient(options)
  const error: Error = await post(url).then(
    () => new Error('no error'),
    (failure) => failure,
  )
  return {
    isForbidden: error instanceof ForbiddenAddressError,
    message: error.message,
    connections,
  }
}

const forbiddenV4 = {
  '127.0.0.1': 'loopback',
  '127.255.255.254': 'loopback',
  '0.0.0.0': 'unspecified',
  '10.0.0.1': 'private',
  '172.16.5.4': 'private',
  '192.168.1.1': 'private',
  '169.254.169.254': 'linkLocal',
  '100.64.0.1': 'carrierGradeNat',
  '192.0.0.192': 'reserved',
  '198.18.0.1': 'reserved',
  '203.0.113.7': 'reserved',
  '224.0.0.1': 'multicast',
  '240.0.0.1': 'reserved',
  '255.255.255.255': 'broadcast',
}

/** Returns the spellings of an IPv4 address in a URL. */
function spellingsOf(address: string): string[] {
  const bytes = address.split('.').map(Number)
  const [a = 0, b = 0, c = 0, d = 0] = bytes
  const whole = ((a * 256 + b) * 256 + c) * 256 + d
  const hex = (value: number, digits = 0) => value.toString(16).padStart(digits, '0')
  const high = hex(a * 256 + b)
  const low = hex(c * 256 + d)
  const inverted = `${hex((a * 256 + b) ^ 0xffff)}:${hex((c * 256 + d) ^ 0xffff)}`
  const fullWidth = address.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit)))
  return [
    address,
    `${address}.`,
    String(whole),
    `0x${hex(whole)}`,
    `0X${hex(whole, 8).toUpperCase()}`,
    `0${whole.toString(8)}`,
    bytes.map((byte) => `0x${hex(byte)}`).join('.'),
    bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
    `${a}.${(b * 256 + c) * 256 + d}`,
    `${a}.${b}.${c * 256 + d}`,
    fullWidth,
    address.replaceAll('.', '\u3002'),
    address.replace(/\d/, (digit) => `%3${digit}`),
    `[::ffff:${address}]`,
    `[::ffff:${high}:${low}]`,
    `[0:0:0:0:0:FFFF:${high}:${low}]`,
    `[::${address}]`,
    `[::ffff:0:${address}]`,
    `[64:ff9b::${address}]`,
    `[64:ff9b:1::${address}]`,
    `[2002:${high}:${low}::1]`,
    `[2001:0:${high}:${low}::${hex(0xf7f7)}:${hex(0xf7f7)}]`,
    `[2001:0:808:808::${inverted}]`,
  ]
}

const forbiddenV6 = [
  '::',
  '::1',
  '0:0:0:0:0:0:0:1',
  'fe80::1',
  'febf::1',
  'fec0::1',
  'fc00::1',
  'fd00:ec2::254',
  'ff02::1',
  '100::1',
  '2001:2::1',
  '2001:3::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '3fff::1',
  '5f00::1',
  '64:ff9b:1::1',
]

const publicAddresses = ['8.8.8.8', '1.1.1.1', '93.184.215.14', '2606:4700::1111', '2a00:1450::5']
const inUrl = (address: string) => (address.includes(':') ? `[${address}]` : address)

describe('forbidden addresses', () => {
  const spellings = [
    ...Object.keys(forbiddenV4).flatMap(spellingsOf),
    ...forbiddenV6.map((address) => `[${address}]`),
  ]

  it(`no request leaves for any of ${spellings.length} spellings`, async () => {
    expect(spellings.length).toBeGreaterThanOrEqual(300)
    for (const host of spellings)
      for (const url of [`http://${host}/hook`, `https://${host}:8443/`]) {
        const { isForbidden, connections } = await attempt(url)
        expect({ url, isForbidden, connections }).toEqual({
          url,
          isForbidden: true,
          connections: [],
        })
        expect(urlFault(url, { allowed: [], setting, proxy: null })).toContain(setting)
      }
  })

  it('a name that leads to one is refused, also when other addresses of it are public', async () => {
    for (const address of [...Object.keys(forbiddenV4), ...forbiddenV6, '::ffff:127.0.0.1']) {
      const resolve = async () => ['8.8.8.8', address]
      const { isForbidden, connections, message } = await attempt('http://hooks.example.com/', {
        resolve,
      })
      expect({ address, isForbidden, connections }).toEqual({
        address,
        isForbidden: true,
        connections: [],
      })
      expect(message).toContain(setting)
    }
  })

  it('the refusal names the address, its range and the setting', async () => {
    for (const [address, range] of Object.entries(forbiddenV4)) {
      const { message } = await attempt(`http://${address}/`)
      expect(message).toBe(`${address} is no public address (${range}); ${setting} can allow it`)
    }
  })

  it('a connection that ends elsewhere than at the checked address is given up', async () => {
    let isDestroyed = false
    const socket = {
      remoteAddress: '127.0.0.1',
      destroy: () => {
        isDestroyed = true
      },
    }
    const connect: ConnectSocket = async () => socket as unknown as Socket
    const { isForbidden, message } = await attempt('http://8.8.8.8/', { connect })
    expect({ isForbidden, isDestroyed }).toEqual({ isForbidden: true, isDestroyed: true })
    expect(message).toContain('another address')
  })

  it.each([
    ['ftp://example.com/', 'http://'],
    ['file:///etc/passwd', 'http://'],
    ['gopher://127.0.0.1/', 'http://'],
    ['http://user@example.com/', 'user name'],
    ['http://user:word@example.com/', 'user name'],
    ['http://:word@example.com/', 'user name'],
    ['example.com', 'no URL'],
    ['', 'no URL'],
    ['http://', 'no URL'],
  ])('%j is refused', async (url, words) => {
    expect(urlFault(url, { allowed: [], setting, proxy: null })).toContain(words)
    expect(await attempt(url)).toMatchObject({ isForbidden: true, connections: [] })
  })

  it.each(['localhost', 'LOCALHOST.', 'app.localhost'])(
    '%s is refused before it is resolved, unless a loopback address is allowed or a proxy resolves it',
    (host) => {
      const fault = (options: Partial<OutboundOptions> = {}) =>
        urlFault(`http://${host}:3000/`, { allowed: [], setting, proxy: null, ...options })
      expect(fault()).toBe(
        `leads to no public address (loopback); ${setting} can allow 127.0.0.1 and ::1`,
      )
      expect(fault({ allowed: [parseAddressRange('127.0.0.1')] })).toBeNull()
      expect(fault({ proxy: 'http://192.0.2.1:3128' })).toBeNull()
    },
  )
})

describe('allowed addresses', () => {
  it('a public one is connected to, by itself or by the name that leads to it', async () => {
    for (const address of publicAddresses) {
      expect((await attempt(`http://${inUrl(address)}/`)).connections).toEqual([address])
      const resolve = async () => [address]
      const named = await attempt('https://hooks.example.com/', { resolve })
      expect(named).toMatchObject({ isForbidden: false, connections: [address] })
    }
  })

  it('the spellings of a public IPv4 address lead to it', async () => {
    for (const host of spellingsOf('8.8.8.8').filter((each) => !each.startsWith('[64:ff9b:1')))
      expect((await attempt(`http://${host}/`)).isForbidden).toBe(false)
  })

  it('a name that leads elsewhere the next time is checked again', async () => {
    const answers = [['8.8.8.8'], ['127.0.0.1']]
    const { post, connections } = recordingClient({ resolve: async () => answers.shift() ?? [] })
    await expect(post('http://hooks.example.com/')).rejects.toThrow('recorded')
    await expect(post('http://hooks.example.com/')).rejects.toThrow(ForbiddenAddressError)
    expect(connections).toEqual(['8.8.8.8'])
  })

  it('the setting allows ranges, in each spelling of them and no others', async () => {
    const allowed = ['10.1.0.0/16', '::1'].map(parseAddressRange)
    for (const host of ['10.1.2.3', '0xa010203', '[::ffff:10.1.2.3]', '[::1]'])
      expect((await attempt(`http://${host}/`, { allowed })).isForbidden).toBe(false)
    for (const host of ['10.2.0.1', '127.0.0.1', '[::ffff:10.2.0.1]', '[::2]'])
      expect((await attempt(`http://${host}/`, { allowed })).isForbidden).toBe(true)
  })

  it('a Teredo address with an allowed server and a client that is not stays forbidden', async () => {
    const allowed = ['10.1.0.0/16'].map(parseAddressRange)
    const client = (ipv4: string) => `[2001:0:a01:203::${ipv4}]`
    expect((await attempt(`http://${client('f7f7:f7f7')}/`, { allowed })).isForbidden).toBe(false)
    // The bits of 127.0.0.1, inverted.
    expect((await attempt(`http://${client('80ff:fffe')}/`, { allowed })).isForbidden).toBe(true)
  })

  it('the next address of a name is tried when one does not answer', async () => {
    const resolve = async () => ['8.8.8.8', '2606:4700::1111']
    const { connections } = await attempt('http://hooks.example.com/', { resolve })
    expect(connections).toEqual(['8.8.8.8', '2606:4700::1111'])
  })

  it('requests to one name share its look-up', async () => {
    const asked: string[] = []
    const resolve = async (name: string) => {
      asked.push(name)
      return ['8.8.8.8']
    }
    const { post, connections } = recordingClient({ resolve })
    const names = ['a.example.com', 'a.example.com', 'b.example.com']
    await Promise.all(
      names.map((name, index) => post(`http://${name}:${8000 + index}/`).catch(() => {})),
    )
    expect(asked).toEqual(['a.example.com', 'b.example.com'])
    expect(connections).toHaveLength(3)
  })

  it('a name without an address is a failure of the network', async () => {
    const { isForbidden, message } = await attempt('http://hooks.example.com/', {
      resolve: async () => [],
    })
    expect({ isForbidden, message }).toEqual({
      isForbidden: false,
      message: 'hooks.example.com has no address',
    })
  })
})

describe('the order of attempts', () => {
  it.each([
    [['a1', 'a2', '::1', '::2'], undefined, ['a1', '::1', 'a2', '::2']],
    [['::1', '::2', '::3', 'a1'], undefined, ['::1', 'a1', '::2', '::3']],
    [['::1', 'a1', '::2'], 'a1', ['a1', '::1', '::2']],
    [['::1', 'a1'], 'a2', ['::1', 'a1']],
    [['a1'], undefined, ['a1']],
  ])('of %j with %s preferred: %j', (addresses, preferred, expected) => {
    expect(attemptOrder(addresses, preferred)).toEqual(expected)
  })
})

describe('look-ups', () => {
  it('names of one application that do not resolve delay no other application', async () => {
    const asked: string[] = []
    const resolve = (name: string) => {
      asked.push(name)
      return name.startsWith('dead') ? new Promise<never>(() => {}) : Promise.resolve(['8.8.8.8'])
    }
    const { post, connections } = recordingClient({ resolve })
    for (let index = 0; index < 50; index++)
      post(`http://dead${index}.example.com/`, 'first').catch(() => {})
    await expect(post('http://good.example.com/', 'second')).rejects.toThrow('recorded')
    expect(connections).toEqual(['8.8.8.8'])
    expect(asked).toHaveLength(5)
  })

  it('a name that failed is asked for again after 30 seconds, in every share', async () => {
    let time = 0
    let asked = 0
    const resolve = async () => {
      asked++
      throw new Error('no such name')
    }
    const { post } = recordingClient({ resolve, now: () => time })
    for (const share of ['first', 'second', 'second'])
      await expect(post('http://a.example.com/', share)).rejects.toThrow('no such name')
    expect(asked).toBe(1)
    time = 29_999
    await expect(post('http://a.example.com/')).rejects.toThrow('no such name')
    expect(asked).toBe(1)
    time = 30_000
    await expect(post('http://a.example.com/')).rejects.toThrow('no such name')
    expect(asked).toBe(2)
  })
})

/** A server on the loopback address, and a client whose name leads to it and to addresses that hang. */
async function loopback(answer: RequestListener, addresses: readonly string[] = ['127.0.0.1']) {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const attempts: string[] = []
  const hanging = new Set<string>()
  const connect: ConnectSocket = ({ address, ...target }, signal) => {
    attempts.push(address)
    if (address === '127.0.0.1') return openSocket({ address, ...target }, signal)
    hanging.add(address)
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => {
        hanging.delete(address)
        reject(signal.reason)
      }),
    )
  }
  const resolve = async () => addresses
  const allowed = [parseAddressRange('127.0.0.0/8')]
  const client = new OutboundClient({
    allowed,
    setting,
    proxy: null,
    lookUpShares: newShares(),
    connect,
    resolve,
  })
  return {
    attempts,
    hanging,
    post: (options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {}) =>
      client.post({
        ...{ url: `http://hooks.example.com:${port}/`, headers: {}, body: '{}' },
        ...{ timeoutMs: 10_000, share: '', ...options },
      }),
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]()
      server.closeAllConnections()
      server.close()
    },
  }
}

describe('connecting', () => {
  const closing: RequestListener = (_, response) =>
    response.writeHead(204, { connection: 'close' }).end()

  it('an address that does not answer: the next one gets the request, and is tried first from then on', async () => {
    await using place = await loopback(closing, ['127.0.0.9', '127.0.0.1', '127.0.0.8'])
    expect((await place.post()).status).toBe(204)
    expect(place.attempts).toEqual(['127.0.0.9', '127.0.0.1'])
    expect([...place.hanging]).toEqual([])
    expect((await place.post()).status).toBe(204)
    expect(place.attempts.slice(2)).toEqual(['127.0.0.1'])
  })

  it('the time limit and the signal of a request end connecting', async () => {
    await using place = await loopback(closing, ['127.0.0.9'])
    await expect(place.post({ timeoutMs: 50 })).rejects.toMatchObject({
      ...{ name: 'TimeoutError', message: 'no answer within 50 ms' },
    })
    const ended = new AbortController()
    const request = expect(place.post({ signal: ended.signal })).rejects.toMatchObject({
      name: 'AbortError',
    })
    ended.abort()
    await request
    expect([...place.hanging]).toEqual([])
  })

  it('a request does not wait for another one to the same server that hangs', async () => {
    const addresses = ['127.0.0.9']
    await using place = await loopback(closing, addresses)
    const ended = new AbortController()
    const request = place.post({ signal: ended.signal }).catch((error) => error.name)
    await vi.waitFor(() => expect(place.hanging.size).toBe(1))
    addresses[0] = '127.0.0.1'
    expect((await place.post()).status).toBe(204)
    ended.abort()
    expect(await request).toBe('AbortError')
  })
})

describe('a connection', () => {
  /** Answers the first so many requests of each connection, and then cuts it. */
  function answering(count: number) {
    const counts = new Map<Socket, number>()
    const answer: RequestListener = ({ socket }, response) => {
      const requests = (counts.get(socket) ?? 0) + 1
      counts.set(socket, requests)
      if (requests > count) socket.resetAndDestroy()
      else response.writeHead(204).end()
    }
    return { answer, requests: () => [...counts.values()] }
  }

  it('is used for the next request', async () => {
    const { answer, requests } = answering(10)
    await using place = await loopback(answer)
    for (let index = 0; index < 5; index++) await place.post()
    expect(requests()).toEqual([5])
  })

  it('that is reset when it is used again: the request is repeated once on a new one', async () => {
    const { answer, requests } = answering(1)
    await using place = await loopback(answer)
    for (let index = 0; index < 3; index++) expect((await place.post()).status).toBe(204)
    expect(requests()).toEqual([2, 2, 1])
  })

  it('that is new and reset: the request fails', async () => {
    const { answer, requests } = answering(0)
    await using place = await loopback(answer)
    await expect(place.post()).rejects.toThrow()
    expect(requests()).toEqual([1])
  })

  it('a request without an answer ends at its time limit, whatever garbage is collected', async () => {
    await using place = await loopback(() => {})
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    let failure = ''
    const { signal } = new AbortController()
    place.post({ timeoutMs: 300, signal }).catch(({ name }) => (failure = name))
    await vi.waitFor(
      () => {
        collect()
        expect(failure).toBe('TimeoutError')
      },
      { timeout: 3_000 },
    )
  })

  it('an answer with more than 10 interim responses is given up', async () => {
    let hints = 10
    await using place = await loopback((_, response) => {
      for (let count = 0; count < hints; count++)
        response.writeEarlyHints({ link: '</style.css>; rel=preload' })
      response.writeHead(204).end()
    })
    expect((await place.post()).status).toBe(204)
    hints = 11
    await expect(place.post()).rejects.toThrow('more than 10 interim responses')
  })

  it('an answer whose body does not end is cut after a second', async () => {
    await using place = await loopback((_, response) => {
      response.writeHead(200)
      const drip = setInterval(() => response.write('drip '), 50)
      response.on('close', () => clearInterval(drip))
    })
    const startedAt = performance.now()
    const { status, body } = await place.post({ timeoutMs: 60_000 })
    expect(performance.now() - startedAt).toBeLessThan(20_000)
    expect({ status, beginning: body.toString().slice(0, 5) }).toEqual({
      status: 200,
      beginning: 'drip ',
    })
  })
})
