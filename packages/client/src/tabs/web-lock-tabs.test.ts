import { expect, it, vi } from 'vitest'
import { webLockTabs } from './web-lock-tabs.js'

it('tabs: what is posted after the close goes nowhere, so a closed client can still log out', () => {
  const tabs = webLockTabs('closed')
  tabs.close()
  expect(() => tabs.post({})).not.toThrow()
})

it('tabs: a worker, which has no document, is visible, and its life can be watched', () => {
  const page = new EventTarget()
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page))
  const tabs = webLockTabs('worker')
  expect(tabs.isVisible()).toBe(true)
  const heard: string[] = []
  const end = tabs.watch((change) => heard.push(change))
  page.dispatchEvent(new Event('pagehide'))
  end()
  page.dispatchEvent(new Event('pagehide'))
  expect(heard).toEqual(['suspended'])
  tabs.close()
  vi.unstubAllGlobals()
})
