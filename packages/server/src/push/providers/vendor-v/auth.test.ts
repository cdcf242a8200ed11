import { expect, it } from 'vitest'
import { vendorVSign } from './auth.js'

it('signs ID, key, time and secret, as in the known example', () => {
  const credentials = { appId: 10001, appKey: 'k-demo', secret: 's-demo' }
  expect(vendorVSign(credentials, 1_700_000_000_000)).toBe('8e11caa4a83bcf81bcb38daedc626e7f')
})
