import { describe, expect, it } from 'vitest'
import { vendorOSign } from './auth.js'
import { regionOf } from './region.js'

describe('vendor_o', () => {
  it('signs key, time and MasterSecret, as in the known example', () => {
    const credentials = { appKey: 'k-demo', masterSecret: 'm-demo' }
    expect(vendorOSign(credentials, 1_700_000_000_000)).toBe(
      'e75a3925a6c87caf13994158c35df21b978cbca572efbc834e446817e5b068cf',
    )
  })

  it('tells devices in China from those abroad by their registration ID', () => {
    const tokens = ['abc', 'CN_abc', 'OPPO_CN_abc', 'IN_abc', 'OPPO_IN_abc', 'a_b_c_d']
    expect(tokens.map((token) => regionOf({ token, badgeCount: null }))).toEqual([
      'domestic',
      'domestic',
      'domestic',
      'abroad',
      'abroad',
      'abroad',
    ])
  })
})
