import { describe, expect, it } from 'vitest'
import { SeenPositions } from './seen-positions.js'

describe('SeenPositions', () => {
  it('keeps the last row of each app', () => {
    const seen = new SeenPositions()
    seen.saw('shop', 2, 20)
    seen.saw('shop', 1, 10)
    seen.saw('bank', 7, 0)
    expect(seen.list()).toEqual([
      { appId: 'shop', position: 2, time: 20 },
      { appId: 'bank', position: 7, time: 0 },
    ])
  })

  it('keeps the 1,000 apps with the newest rows', () => {
    const seen = new SeenPositions()
    for (let app = 1; app <= 1_000; app++) seen.saw(`app${app}`, 1, 1)
    seen.saw('app1', 2, 2)
    seen.saw('app1001', 1, 1)
    const apps = seen.list().map(({ appId }) => appId)
    expect(apps).toHaveLength(1_000)
    expect(apps).not.toContain('app2')
    expect(apps.slice(-2)).toEqual(['app1', 'app1001'])
  })
})
