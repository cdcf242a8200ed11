import { describe, expect, it } from 'vitest'
import { isAddressRange, networkOf } from './network.js'

describe('networkOf', () => {
  it.each(['192.0.2.7', '::ffff:192.0.2.7', 'local', '', ':', '1:2:3'])(
    'leaves %j as it is',
    (address) => {
      expect(networkOf(address)).toBe(address)
    },
  )

  it.each([
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:db8:1:2:3::', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8::3:4:5:6:7', '2001:db8:0:3::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['2001:0DB8:1::1', '2001:db8:1:0::/64'],
    ['::ffff:c000:207', '::ffff:192.0.2.7'],
  ])('counts %j to %j', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })
})

describe('isAddressRange', () => {
  it.each(['192.0.2.7', '10.0.0.0/8', '::1', 'fe80::1%eth0', '2001:db8::/32', '::ffff:192.0.2.7'])(
    'accepts %j',
    (text) => {
      expect(isAddressRange(text)).toBe(true)
    },
  )

  it.each([
    '',
    '/8',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '10.0.0.0/255.0.0.0',
    '10.0.0/8',
    '010.0.0.1',
    '0x0a.0.0.1',
    '1',
    '256.0.0.1',
    '::/129',
    '0.0.0.0/0',
    '::/0',
    ':::',
    'proxy.example',
    ' 10.0.0.1',
  ])('refuses %j', (text) => {
    expect(isAddressRange(text)).toBe(false)
  })
})
