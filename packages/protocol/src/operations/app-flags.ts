import { operation } from '../operation.js'
import { ApplicationFlags, platforms } from '../resources.js'
import { boolean, intEnum } from '../schema.js'
import { get, username } from './fields.js'

const tag = 'Applications'

export const getAppFlags = operation({
  id: 'app.config',
  methods: get,
  path: '/app/config',
  tag,
  summary: 'Reads what clients need to know of the application.',
  callers: 'anyone',
  query: { platform: intEnum(platforms) },
  data: ApplicationFlags,
  origin: 'extension',
})

export const checkUsername = operation({
  id: 'app.user.name_check',
  methods: get,
  path: '/app/user/name_check',
  tag,
  summary: 'Tells whether a username is free.',
  callers: 'anyone',
  query: { username },
  data: boolean({ description: 'true: the username may be registered' }),
  origin: 'extension',
})
