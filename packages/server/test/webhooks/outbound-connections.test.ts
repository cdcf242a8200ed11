/** Real connections of the outbound client, in a network namespace that the test makes. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TempFolder } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'

const script = fileURLToPath(new URL('../support/webhooks/outbound-namespace.mjs', import.meta.url))
/** Ways to make the namespaces: as a user who is root in them, or as root. */
const flags = ['-rnm', '-nm'].find(
  (each) => spawnSync('unshare', [each, 'ip', 'link', 'set', 'lo', 'up']).status === 0,
)

const privateAddress = '10.9.8.7'
const publicAddress = '8.8.8.8'
const names = {
  'public.test': [publicAddress],
  'private.test': [privateAddress],
  'mixed.test': [publicAddress, privateAddress],
  'mapped.test': [`::ffff:${privateAddress}`],
}
const privateUrls = [
  'http://10.9.8.7/',
  'http://168364039/',
  'http://0x0a.9.0x807/',
  'http://[::ffff:10.9.8.7]/',
  'http://[::ffff:a09:807]/',
  'http://private.test/',
  'http://mapped.test/',
]
const mixedUrl = 'http://mixed.test/'
const loopbackUrls = ['http://127.0.0.1/', 'http://localhost/', 'http://[::1]/']
const redirectUrl = 'http://public.test/redirect'

interface Result {
  readonly outcomes: Readonly<Record<string, string>>
  /** Connections that the servers of the namespace have taken, by address. */
  readonly connections: Readonly<Record<string, number>>
}

/** Calls the URLs in new namespaces. */
function callIn(flag: string, urls: readonly string[], allowed: readonly string[]): Result {
  using folder = new TempFolder('hosts')
  const options = JSON.stringify({
    hostsFile: join(folder.path, 'hosts'),
    addresses: ['127.0.0.1', '::1', privateAddress, publicAddress],
    names,
    redirect: `http://${privateAddress}/`,
    allowed,
    urls,
  })
  const { status, stdout, stderr } = spawnSync('unshare', [flag, process.execPath, script, options])
  if (status !== 0) throw new Error(`the namespace failed: ${stderr}`)
  return JSON.parse(String(stdout))
}

const outcomesOf = (urls: readonly string[], outcome: string) =>
  Object.fromEntries(urls.map((url) => [url, outcome]))

describe('outbound connections in a network namespace', () => {
  if (flags === undefined) {
    it('left out: network namespaces are not allowed here', () => expect(flags).toBeUndefined())
  } else {
    it('no private server gets a connection, whatever URL leads to it', () => {
      const forbidden = [...privateUrls, mixedUrl, ...loopbackUrls]
      const { outcomes, connections } = callIn(flags, [...forbidden, redirectUrl], [])
      expect(outcomes).toEqual({ ...outcomesOf(forbidden, 'refused'), [redirectUrl]: '307' })
      expect(connections).toEqual({
        '127.0.0.1': 0,
        '::1': 0,
        [privateAddress]: 0,
        [publicAddress]: 1,
      })
    })

    it('an allowed private address gets the requests, and no redirect', () => {
      const urls = [...privateUrls, mixedUrl, redirectUrl, ...loopbackUrls]
      const { outcomes, connections } = callIn(flags, urls, [`${privateAddress}/32`])
      expect(outcomes).toEqual({
        ...outcomesOf([...privateUrls, mixedUrl], '200'),
        ...outcomesOf(loopbackUrls, 'refused'),
        [redirectUrl]: '307',
      })
      expect(connections[privateAddress]).toBeGreaterThan(0)
      expect([connections['127.0.0.1'], connections['::1']]).toEqual([0, 0])
    })
  }
})
