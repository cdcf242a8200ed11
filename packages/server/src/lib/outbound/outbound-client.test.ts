import type { buildConnector } from 'undici'
import { describe, expect, it } from 'vitest'
import { parseAddressRange } from './address.js'
import {
  ForbiddenAddressError,
  OutboundClient,
  type OutboundOptions,
  urlFault,
} from './outbound-client.js'

const setting = 'HERMOD_OUTBOUND_ALLOW'

/** A client with a connector that records addresses and connects to none. */
function recordingClient(options: Partial<OutboundOptions> = {}) {
  const connections: string[] = []
  const connect: buildConnector.connector = ({ hostname }, callback) => {
    connections.push(hostname)
    callback(new Error('recorded'), null)
  }
  const client = new OutboundClient({ allowed: [], setting, proxy: null, connect, ...options })
  const post = (url: string) => client.post({ url, headers: {}, body: '{}', timeoutMs: 5_000 })
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
        expect(urlFault(url, { allowed: [], setting })).toContain(setting)
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
    const connect = ((_: unknown, callback: (error: null, socket: unknown) => void) =>
      callback(null, socket)) as unknown as buildConnector.connector
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
    expect(urlFault(url, { allowed: [], setting })).toContain(words)
    expect(await attempt(url)).toMatchObject({ isForbidden: true, connections: [] })
  })
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
