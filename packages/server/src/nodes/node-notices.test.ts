import { describe, expect, it } from 'vitest'
import { connectionNotices, settingNotices } from './node-notices.js'

function aNode(id: string, settings: Readonly<Record<string, string>> = {}, pool = 10) {
  return { id, host: `${id}.example`, pool, settings, heartbeatAt: 0 }
}

describe('notices of nodes', () => {
  it('names a setting with different values, and the value of each node', () => {
    const nodes = [aNode('a', { X: '1', Y: 'on' }), aNode('b', { X: '2', Y: 'on' }), aNode('c')]
    expect(settingNotices(nodes)).toEqual([
      {
        check: 'node_settings',
        subject: 'X',
        detail:
          'X must be the same on all nodes, and is 1 on node a (a.example), 2 on node b (b.example); set one value and start these nodes again',
      },
    ])
    expect(settingNotices(nodes.slice(1))).toEqual([])
  })

  it('names the pools whose sum is greater than the limit of connections', () => {
    const nodes = [aNode('a'), aNode('b', {}, 20)]
    expect(connectionNotices(nodes, { of: 'PostgreSQL', connections: 34 })).toEqual([])
    expect(connectionNotices(nodes, { of: 'PostgreSQL', connections: 33 })).toEqual([
      expect.objectContaining({
        check: 'node_connections',
        detail:
          'PostgreSQL allows 33 connections, fewer than the 34 that the nodes may open: 2 of each, and pools of 10 of node a (a.example), 20 of node b (b.example); raise the limit, or lower HERMOD_DATABASE_POOL',
      }),
    ])
  })
})
