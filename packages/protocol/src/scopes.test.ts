import { describe, expect, it } from 'vitest'
import { missingScope, scopeFaults, scopeNames, scopes } from './scopes.js'

describe('scopes', () => {
  it('are eight, each with sentences on what it reaches', () => {
    expect(scopeNames).toEqual([
      ...['users:read', 'users:write', 'tokens:issue', 'messages:read', 'messages:send'],
      ...['groups', 'push', 'app'],
    ])
    for (const reach of Object.values(scopes)) expect(reach).toMatch(/^[A-Z].*\.$/)
  })

  it('are needed all of them, and the first missing one is named; a token without a list has all', () => {
    const has = new Set(['app'])
    expect(missingScope(['app', 'messages:read'], has)).toBe('messages:read')
    expect(missingScope(['push', 'groups'], has)).toBe('push')
    expect(missingScope(['app'], has)).toBe(null)
    expect(missingScope([], new Set())).toBe(null)
    expect(missingScope(['app'], new Set())).toBe('app')
    expect(missingScope(['app', 'messages:read'], null)).toBe(null)
  })

  it('are listed once, and all stands alone', () => {
    expect(scopeFaults({ scopes: ['push', 'app'] })).toEqual([])
    expect(scopeFaults({ scopes: ['all'] })).toEqual([])
    expect(scopeFaults({})).toEqual([])
    expect(scopeFaults({ scopes: ['push', 'app', 'push'] })).toEqual(['scopes has push twice'])
    expect(scopeFaults({ scopes: ['push', 'all'] })).toEqual(['scopes has all, which stands alone'])
  })
})
