import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { ConfigError, loadConfig } from './config.js'

const s3 = {
  HERMOD_S3_ENDPOINT: 'https://s3.example.org/',
  HERMOD_S3_BUCKET: 'files',
  HERMOD_S3_ACCESS_KEY_ID: 'key',
  HERMOD_S3_SECRET_ACCESS_KEY: 'hunter2',
}

function settingOf(env: NodeJS.ProcessEnv, name: string) {
  return loadConfig(env).settings.find((setting) => setting.name === name)?.value
}

function violationsOf(env: NodeJS.ProcessEnv): readonly string[] {
  try {
    loadConfig(env)
    return []
  } catch (error) {
    return error instanceof ConfigError ? error.violations : [String(error)]
  }
}

describe('store of files', () => {
  it('is a folder of the data folder by default, and is shown so', () => {
    const env = { HERMOD_DATA_DIR: '/data' }
    expect(loadConfig(env).config.files.store).toEqual({
      kind: 'folder',
      folder: '/data/files',
      isShared: false,
    })
    expect(settingOf(env, 'HERMOD_S3_ENDPOINT')).toBe('not set: files are kept in /data/files')
  })

  it('is another folder when it is set, which all nodes may share', () => {
    const env = { HERMOD_DATA_DIR: '/data', HERMOD_FILES_DIR: '/mnt/files' }
    const store = { kind: 'folder', folder: '/mnt/files' }
    expect(loadConfig(env).config.files.store).toEqual({ ...store, isShared: false })
    const shared = { ...env, HERMOD_FILES_SHARED: 'on' }
    expect(loadConfig(shared).config.files.store).toEqual({ ...store, isShared: true })
    expect(violationsOf({ ...env, HERMOD_FILES_DIR: '/data/' })).toEqual([
      expect.stringMatching(/^HERMOD_FILES_DIR must not be HERMOD_DATA_DIR itself/),
    ])
  })

  it('is S3 when it is set, with clients that come through the service and are redirected', () => {
    expect(loadConfig({ ...s3, HERMOD_DATA_DIR: '/data' }).config.files.store).toEqual({
      kind: 's3',
      endpoint: 'https://s3.example.org',
      publicEndpoint: 'https://s3.example.org',
      region: 'us-east-1',
      bucket: 'files',
      accessKeyId: 'key',
      forcePathStyle: true,
      prefix: '',
      directUploads: false,
      redirectDownloads: true,
      spoolFolder: '/data/files/.incoming',
    })
    const env = {
      ...s3,
      HERMOD_S3_PUBLIC_ENDPOINT: 'https://files.example.org',
      HERMOD_S3_UPLOADS: 'direct',
      HERMOD_S3_DOWNLOADS: 'stream',
      HERMOD_S3_FORCE_PATH_STYLE: 'off',
      HERMOD_S3_PREFIX: 'a/b/',
    }
    expect(loadConfig(env).config.files.store).toMatchObject({
      publicEndpoint: 'https://files.example.org',
      forcePathStyle: false,
      prefix: 'a/b/',
      directUploads: true,
      redirectDownloads: false,
    })
  })

  it('has a secret that nobody is shown', () => {
    const loaded = loadConfig(s3)
    expect(loaded.secrets.s3SecretAccessKey).toBe('hunter2')
    expect(settingOf(s3, 'HERMOD_S3_SECRET_ACCESS_KEY')).toBe('set')
    for (const text of [inspect(loaded, { depth: 9 }), JSON.stringify(loaded)])
      expect(text).not.toContain('hunter2')
  })

  it('names what is missing of it', () => {
    const { HERMOD_S3_SECRET_ACCESS_KEY: _, ...some } = s3
    expect(violationsOf(some)).toEqual([
      expect.stringMatching(/^HERMOD_S3_SECRET_ACCESS_KEY is required with HERMOD_S3_ENDPOINT, /),
    ])
    expect(violationsOf({ HERMOD_S3_BUCKET: 'files' })).toHaveLength(3)
  })

  it.each(['/a/', 'a', '../', 'a//', './', 'A/', 'a/./'])('refuses %s as a prefix', (prefix) => {
    expect(violationsOf({ HERMOD_S3_PREFIX: prefix })).toEqual([
      expect.stringMatching(/^HERMOD_S3_PREFIX must be /),
    ])
  })
})

describe('ffmpeg', () => {
  const folder = mkdtempSync(join(tmpdir(), 'hermod-ffmpeg-'))
  const program = join(folder, 'ffmpeg')
  writeFileSync(program, '#!/bin/sh\n')
  chmodSync(program, 0o755)
  mkdirSync(join(folder, 'other/ffmpeg'), { recursive: true })
  afterAll(() => rmSync(folder, { recursive: true }))

  it('is found in PATH, and is shown so', () => {
    const env = { PATH: `/nowhere:${join(folder, 'other')}:${folder}` }
    expect(loadConfig(env).config.files.ffmpeg).toBe(program)
    expect(settingOf(env, 'HERMOD_FFMPEG')).toBe(`${program}, found in PATH`)
  })

  it('may be missing, and is shown so', () => {
    expect(loadConfig({ PATH: '/nowhere' }).config.files.ffmpeg).toBeNull()
    expect(settingOf({}, 'HERMOD_FFMPEG')).toBe('not found: voice is not converted')
  })

  it('may be named, and must be a program then', () => {
    expect(loadConfig({ HERMOD_FFMPEG: program, PATH: '' }).config.files.ffmpeg).toBe(program)
    expect(violationsOf({ HERMOD_FFMPEG: join(folder, 'other/ffmpeg') })).toEqual([
      expect.stringContaining('is no program'),
    ])
  })
})
