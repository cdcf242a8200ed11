import { describe, expect, it } from 'vitest'
import { loadConfig } from './config.js'
import { optionKeys, options } from './options.js'
import { configReference } from './reference.js'

describe('configReference', () => {
  const reference = configReference()

  it('describes every option once, in the overview and in a section', () => {
    for (const key of optionKeys) {
      const { name, text } = options[key]
      expect(reference.split(`\n## ${name}\n\n${text}\n`)).toHaveLength(2)
      expect(reference.split(`\n| [\`${name}\`](#`)).toHaveLength(2)
    }
  })

  it('names default, unit and example', () => {
    expect(reference).toContain(
      '| [`HERMOD_SHUTDOWN_SECONDS`](#hermod_shutdown_seconds) | `20` | seconds |',
    )
    expect(reference).toContain(
      '- Type: integer (bytes)\n- Default: `65536`\n- Must be: an integer from 1024 to 1000000\n',
    )
    expect(reference).toContain(
      '- Default: unset\n- Must be: a postgres:// or postgresql:// URL with one host',
    )
  })

  it('names the file of each secret, and of nothing else', () => {
    for (const key of optionKeys) {
      const { name, secret } = options[key]
      expect(reference.includes(`\n- From a file: \`${name}_FILE=/run/secrets/`)).toBe(secret)
    }
  })

  it('shows a file that loads', () => {
    const file = /```json\n(.*?)```/s.exec(reference)?.[1] ?? ''
    expect(loadConfig({ HERMOD_CONFIG: 'sample.json' }, () => file).sources.port).toBe('file')
  })
})
