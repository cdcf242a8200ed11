import { expect, it } from 'vitest'
import { installedPackages, type LockFile, refusedLicenses, renderLicenses } from './licenses.js'

const lock: LockFile = {
  packages: {
    '': {},
    'packages/hermod': { dependencies: { '@hermod/server': '1.0.0', one: '1.0.0' } },
    'packages/client': {},
    'packages/server': { dependencies: { two: '1.0.0' }, optionalDependencies: { mac: '1.0.0' } },
    'node_modules/@hermod/server': { resolved: 'packages/server', link: true },
    'node_modules/one': { version: '1.0.0', license: 'MIT', dependencies: { two: '2.0.0' } },
    'node_modules/one/node_modules/two': { version: '2.0.0', license: '(GPL-2.0 OR MIT)' },
    'node_modules/two': { version: '1.0.0', license: 'ISC' },
    'node_modules/mac': { version: '1.0.0', license: 'Apache-2.0' },
    'node_modules/unused': { version: '1.0.0', license: 'GPL-3.0' },
  },
}

function refused(license: string | undefined, name = 'some'): boolean {
  return refusedLicenses([{ name, version: '1.0.0', license }]).length > 0
}

it('licences: the list has what the packages install, through links, in all versions, and nothing else', () => {
  const names = installedPackages(lock, ['packages/hermod']).map(
    ({ name, version }) => `${name} ${version}`,
  )
  expect(names).toEqual(['mac 1.0.0', 'one 1.0.0', 'two 1.0.0', 'two 2.0.0'])
  expect(renderLicenses(lock)).toContain('| two | 1.0.0 | ISC |')
})

it('licences: a package without one, with an unknown one or with copyleft is refused', () => {
  const licenses = [
    undefined,
    'SEE LICENSE IN x',
    'GPL-3.0',
    'MIT AND GPL-3.0',
    'LGPL-3.0-or-later',
  ]
  for (const license of licenses) expect(refused(license), license).toBe(true)
  for (const license of ['MIT', '(BSD-3-Clause OR GPL-2.0)', 'Apache-2.0 AND MIT'])
    expect(refused(license), license).toBe(false)
})

it('licences: the LGPL is allowed for the library of sharp alone', () => {
  const license = 'Apache-2.0 AND LGPL-3.0-or-later'
  expect(refused(license, '@img/sharp-libvips-linux-x64')).toBe(false)
  expect(refused(license, '@img/sharp-linux-x64')).toBe(true)
})

it('licences: the page is not made when one is refused', () => {
  const packages = {
    ...lock.packages,
    'node_modules/two': { version: '1.0.0', license: 'GPL-3.0' },
  }
  expect(() => renderLicenses({ packages })).toThrow('two 1.0.0 has the licence GPL-3.0')
})
