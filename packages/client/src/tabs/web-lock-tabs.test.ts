import { expect, it } from 'vitest'
import { webLockTabs } from './web-lock-tabs.js'

it('tabs: what is posted after the close goes nowhere, so a closed client can still log out', () => {
  const tabs = webLockTabs('closed')
  tabs.close()
  expect(() => tabs.post({})).not.toThrow()
})
