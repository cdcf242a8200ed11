import { describe, expect, it } from 'vitest'
import { networkOf } from './network.js'

describe('networkOf', () => {
  it.each(['192.0.2.7', '::ffff:192.0.2.7', 'local', ''])('leaves %j as it is', (address) => {
    expect(networkOf(address)).toBe(address)
  })

  it.each([
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:3::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8::3:4:5:6:7', '2001:db8:0:3::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ])('counts %j to %j', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })
})
