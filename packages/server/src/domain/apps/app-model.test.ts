import { describe, expect, it } from 'vitest'
import {
  defaultAppSettings,
  parseSettings,
  settingsViolation,
  storedSettings,
} from './app-model.js'

describe('settings of an application', () => {
  it('are stored as what differs from the defaults, so that a new default reaches every app that set nothing', () => {
    expect(storedSettings(defaultAppSettings)).toBe('{}')
    const settings = { ...defaultAppSettings, recall_enabled: false, user_limit: 5 }
    expect(JSON.parse(storedSettings(settings))).toEqual({ recall_enabled: false, user_limit: 5 })
    expect(parseSettings(storedSettings(settings))).toEqual(settings)
    expect(parseSettings('{}')).toEqual(defaultAppSettings)
  })

  it.each(['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+3'])(
    'take the time zone %s',
    (time_zone) => {
      expect(settingsViolation({ time_zone })).toBeNull()
    },
  )

  it.each(['', 'Mars/Olympus', 'Europe/'])('refuse the time zone "%s"', (time_zone) => {
    expect(settingsViolation({ time_zone })).toContain('settings.time_zone must')
  })

  it('are not checked where nothing is given', () => {
    expect(settingsViolation({})).toBeNull()
  })
})
