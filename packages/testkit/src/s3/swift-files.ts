/** The configuration of a Swift of one node, one disk and one copy, on loopback. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'

/** The daemons that store data, behind the proxy. */
export const storageDaemons = ['account', 'container', 'object'] as const
export const daemons = [...storageDaemons, 'proxy'] as const

export type SwiftDaemon = (typeof daemons)[number]
export type SwiftPorts = Readonly<Record<SwiftDaemon, number>>

/** The account of tempauth. */
export const account = { user: 'test:tester', key: 'testing', path: '/v1/AUTH_test' } as const

/** Writes everything but the rings. */
export function writeSwiftFiles(folder: string, ports: SwiftPorts): void {
  mkdirSync(join(folder, 'devices', 'd1'), { recursive: true })
  writeFileSync(join(folder, 'swift.conf'), swiftConf)
  writeFileSync(join(folder, 'memory_cache.py'), memoryCache)
  for (const name of storageDaemons)
    writeFileSync(confPath(folder, name), storageConf(folder, name, ports))
  writeFileSync(confPath(folder, 'proxy'), defaults(folder, ports.proxy) + proxyConf)
}

export function confPath(folder: string, daemon: SwiftDaemon): string {
  return join(folder, `${daemon}-server.conf`)
}

/**
 * Returns a Python program that writes a ring for each daemon: the assignment of data to disks and
 * ports.
 */
export function ringProgram(folder: string, ports: SwiftPorts): string {
  return `
from swift.common.ring import RingBuilder
for name, port in (${storageDaemons.map((name) => `('${name}', ${ports[name]})`).join(', ')}):
    builder = RingBuilder(1, 1, 0)
    builder.add_dev(dict(id=0, region=1, zone=1, ip='127.0.0.1', port=port, device='d1', weight=1.0))
    builder.rebalance()
    builder.get_ring().save('${folder}/' + name + '.ring.gz')
`
}

const swiftConf = `[swift-hash]
swift_hash_path_suffix = test
[storage-policy:0]
name = Policy-0
default = yes
`

/** Its authentication requires a memcached, which a single process does not need. */
const memoryCache = `class Cache:
    def __init__(self):
        self.entries = {}
    def get(self, key, **options):
        return self.entries.get(key)
    def set(self, key, value, **options):
        self.entries[key] = value
    def incr(self, key, delta=1, **options):
        self.entries[key] = max(0, int(self.entries.get(key, 0)) + delta)
        return self.entries[key]
    def delete(self, key, **options):
        self.entries.pop(key, None)

def filter_factory(global_conf, **conf):
    cache = Cache()
    def with_cache(app):
        def call(environment, start_response):
            environment['swift.cache'] = cache
            return app(environment, start_response)
        return call
    return with_cache
`

function defaults(folder: string, port: number): string {
  return `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
# Do not wait for a port that another process has taken.
bind_timeout = 1
user = ${userInfo().username}
swift_dir = ${folder}
workers = 0
`
}

function storageConf(folder: string, name: SwiftDaemon, ports: SwiftPorts): string {
  return `${defaults(folder, ports[name])}devices = ${join(folder, 'devices')}
mount_check = false
[pipeline:main]
pipeline = ${name}-server
[app:${name}-server]
use = egg:swift#${name}
`
}

const proxyConf = `[pipeline:main]
pipeline = catch_errors gatekeeper memory_cache s3api tempauth bulk slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
allow_account_management = true
account_autocreate = true
# Else a daemon that is slow to start is left out for a minute.
error_suppression_limit = 1000000
[filter:memory_cache]
paste.filter_factory = memory_cache:filter_factory
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = testing .admin
[filter:bulk]
use = egg:swift#bulk
[filter:slo]
use = egg:swift#slo
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
`
