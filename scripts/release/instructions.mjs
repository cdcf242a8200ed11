/** The commands that publish a release. */
import { execFileSync } from 'node:child_process'
import { relative } from 'node:path'
import { root } from './packages.mjs'

const image = 'ghcr.io/OWNER/hermod'
const kB = (bytes) => `${Math.round(bytes / 1000)} kB`

/** @returns the text for the publisher */
export function instructions({ workspace: { version }, packed }) {
  const names = packed.map(({ tarball }) => relative(root, tarball))
  const commands = names.map((name) => `npm publish ./${name} --access public --provenance`)
  const sizes = packed.map(
    ({ manifest, size, unpackedSize }) =>
      `  ${manifest.name}: ${kB(size)} packed, ${kB(unpackedSize)} unpacked`,
  )
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const commit = git('rev-parse', 'HEAD')
  const isChanged = git('status', '--porcelain') !== ''
  return `
The packages in release/, each after those that it needs:
${sizes.join('\n')}

${isChanged ? 'The checkout has changes that are not committed: commit them and run this again first.\n' : ''}A publisher types, on commit ${commit}:

  git tag --sign v${version} --message "Hermod ${version}" ${commit}
  git push origin v${version}

The tag starts .github/workflows/release.yml, which checks again, and publishes. Its commands:

${commands.map((command) => `  ${command}`).join('\n')}
  docker build --file deploy/Dockerfile --tag ${image}:${version} .
  docker push ${image}:${version}

By hand they are the same without --provenance, which only such a workflow can prove. OWNER is the
owner of the repository.`
}
