/** One version everywhere, and what a release has to have beside its packages. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './packages.mjs'

/** Files that name the version, as `#` stands for it. */
const named = {
  'deploy/compose.base.yaml': 'HERMOD_VERSION:-#}',
  'deploy/kubernetes/kustomization.yaml': 'newTag: #\n',
  'packages/client/src/runtime/sdk.ts': "'@hermod/client #'",
}

const textOf = (path) => readFileSync(join(root, path), 'utf8')

/** @returns faults of the checkout as the release of its version */
export function versionFaults({ version, packages }) {
  return [
    ...manifestFaults(version, packages),
    ...namedFaults(version),
    ...changelogFaults(version, textOf('CHANGELOG.md')),
    ...fixtureFaults(version),
  ]
}

export function namedFaults(version) {
  return Object.entries(named).flatMap(([path, pattern]) => {
    const text = pattern.replace('#', version)
    return textOf(path).includes(text) ? [] : [`${path}: ${text.trim()} is missing`]
  })
}

export function manifestFaults(version, packages) {
  const own = new Set(packages.map(({ manifest }) => manifest.name))
  return packages.flatMap(({ folder, manifest }) => {
    const faults = []
    if (manifest.version !== version)
      faults.push(`${folder}: version ${manifest.version} is not ${version}, that of package.json`)
    for (const kind of ['dependencies', 'devDependencies', 'peerDependencies'])
      for (const [name, wanted] of Object.entries(manifest[kind] ?? {}))
        if (own.has(name) && wanted !== version)
          faults.push(`${folder}: ${kind} has ${name} ${wanted}, not exactly ${version}`)
    for (const field of ['description', 'keywords', 'license', 'engines'])
      if (manifest[field] === undefined) faults.push(`${folder}: package.json has no ${field}`)
    return faults
  })
}

/** The newest release of the changelog is this version, with its date, below what is unreleased. */
export function changelogFaults(version, changelog) {
  const headings = [...changelog.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
  const [first, second = ''] = headings
  const faults = []
  if (first !== 'Unreleased') faults.push('CHANGELOG.md: the first heading is not "## Unreleased"')
  const [, name, date] = /^(\S+) - (\d{4}-\d{2}-\d{2})$/.exec(second) ?? []
  if (name !== version || Number.isNaN(Date.parse(date)))
    faults.push(
      `CHANGELOG.md: the heading after "## Unreleased" is not "## ${version} - " and the date of the release`,
    )
  return faults
}

function fixtureFaults(version) {
  const folder = `packages/server/test/fixtures/releases/${version}`
  return existsSync(join(root, folder))
    ? []
    : [`${folder} is missing: run node scripts/release-fixture.mjs and commit the folder`]
}
