import { describe, expect, it } from 'vitest'
import { PresenceService } from './presence-service.js'

describe('a user', () => {
  it('is online while any device is connected, in the own application only', () => {
    const presence = new PresenceService()
    const alice = { appId: 'one', userId: 7 }
    const namesake = { appId: 'two', userId: 7 }
    expect(presence.isOnline(alice)).toBe(false)
    const [closePhone, closeTablet] = [presence.connect(alice), presence.connect(alice)]
    closePhone()
    closePhone()
    expect([presence.isOnline(alice), presence.isOnline(namesake)]).toEqual([true, false])
    closeTablet()
    expect(presence.isOnline(alice)).toBe(false)
  })
})
