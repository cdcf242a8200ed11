import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { addressReader } from './client-address.js'

function addressOf(trust: boolean | readonly string[], forwarded: string, peer = '10.0.0.1') {
  const request = { headers: { 'x-forwarded-for': forwarded }, socket: { remoteAddress: peer } }
  return addressReader(trust)(request as unknown as IncomingMessage)
}

describe('addressReader', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['192.0.2.7:51234', '192.0.2.7'],
    ['[2001:db8::7]:51234', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['2001:db8::7', '2001:db8::7'],
    ['"[2001:db8::7]:443"', '2001:db8::7'],
    ['unknown', 'unknown'],
    ['1:2:3', '1:2:3'],
  ])('takes %j for the address %j, whatever the port', (forwarded, address) => {
    expect(addressOf(['10.0.0.0/8'], forwarded)).toBe(address)
    expect(addressOf(true, forwarded)).toBe(address)
  })

  it('goes on to the next address behind a trusted proxy that is named with its port', () => {
    const chain = '198.51.100.4:999, 10.0.0.2:8080, [fd00::3]:80'
    expect(addressOf(['10.0.0.0/8', 'fd00::/8'], chain)).toBe('198.51.100.4')
    expect(addressOf(['10.0.0.0/8'], chain)).toBe('fd00::3')
  })

  it('knows the address of the connection only where no proxy is trusted', () => {
    expect(addressOf(false, '192.0.2.7')).toBe('10.0.0.1')
    expect(addressOf(['172.16.0.0/12'], '192.0.2.7')).toBe('10.0.0.1')
  })
})
