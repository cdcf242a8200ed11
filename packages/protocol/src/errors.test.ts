import { describe, expect, it } from 'vitest'
import { type ErrorEntry, errorCatalogue } from './errors.js'

/** Written down once more, because a code is never renumbered: clients know it by its number. */
const published = {
  token_expired: 402,
  user_not_found: 10000,
  wrong_verification_code: 10001,
  invalid_parameter: 10002,
  token_missing: 10003,
  user_exists: 10004,
  already_contact: 10005,
  in_block_list: 10006,
  contact_request_not_found: 10007,
  token_invalid: 10008,
  object_storage_failed: 10009,
  no_permission: 10010,
  user_already_bound: 10011,
  contact_requests_refused: 10012,
  password_incorrect: 10013,
  user_disabled: 10014,
  mobile_taken: 10015,
  email_taken: 10016,
  device_not_found: 10017,
  wrong_auth_answer: 10018,
  not_contact: 10019,
  registration_signature_invalid: 10020,
  user_deleted: 10021,
  contact_limit_reached: 10022,
  assertion_refused: 10023,
  issuer_not_found: 10027,
  issuer_limit_reached: 10028,
  issuer_exists: 10029,
  identity_not_found: 10024,
  identity_limit_reached: 10025,
  last_identity: 10026,
  username_taken: 11011,
  push_image_upload_failed: 12001,
  push_image_too_large: 12002,
  push_image_upload_rejected: 12003,
  push_image_unreachable: 12004,
  audience_too_long: 12005,
  push_not_enabled: 12006,
  push_certificate_not_found: 12007,
  push_alias_taken: 12008,
  push_token_mismatch: 12009,
  push_tag_limit_reached: 12010,
  push_task_not_found: 12011,
  message_not_found: 13000,
  conversation_not_found: 13001,
  recall_too_late: 13002,
  recall_disabled: 13003,
  blocked_by_recipient: 13004,
  stranger_refused: 13005,
  message_censored: 13006,
  message_too_large: 13007,
  member_banned: 13008,
  message_type_refused: 13009,
  pin_limit_reached: 13010,
  file_signature_invalid: 14000,
  file_not_found: 14001,
  file_type_invalid: 14002,
  file_too_large: 14003,
  upload_form_invalid: 14004,
  file_missing: 14005,
  file_name_invalid: 14006,
  file_quota_reached: 14007,
  upload_ticket_invalid: 14008,
  upload_ticket_used: 14009,
  rendition_unavailable: 14010,
  picture_too_complex: 14011,
  voice_conversion_unavailable: 14012,
  webhook_not_found: 15000,
  webhook_limit_reached: 15001,
  webhook_replay_gone: 15002,
  event_cursor_invalid: 15003,
  event_consumer_not_found: 15004,
  event_consumer_limit_reached: 15005,
  too_many_event_readers: 15006,
  file_storage_full: 14013,
  files_on_other_node: 14014,
  storage_failed: 20000,
  group_not_found: 20001,
  not_group_member: 20002,
  push_mode_out_of_range: 20003,
  owner_cannot_leave: 20004,
  new_owner_not_member: 20005,
  group_under_repair: 20006,
  app_group_limit_reached: 20007,
  created_group_limit_reached: 20008,
  joined_group_limit_reached: 20009,
  group_full: 20010,
  member_required: 20011,
  group_admin_required: 20012,
  group_owner_required: 20013,
  join_request_not_open: 20014,
  group_invitation_not_open: 20015,
  kicked_too_often: 20016,
  already_group_member: 20017,
  in_group_block_list: 20018,
  join_requests_closed: 20019,
  announcement_not_found: 20020,
  announcements_disabled: 20021,
  shared_file_not_found: 20022,
  shared_file_forbidden: 20023,
  qr_code_invalid: 20024,
  qr_code_expired: 20025,
  capacity_invalid: 20026,
  shared_file_limit_reached: 20027,
  admin_limit_reached: 20028,
  app_not_found: 40000,
  registration_closed: 40001,
  user_limit_reached: 40002,
  app_inactive: 40003,
  app_exists: 40004,
  token_not_found: 40005,
  malformed_request: 40010,
  origin_refused: 40300,
  path_not_found: 40400,
  operation_unknown: 40401,
  method_not_accepted: 40500,
  body_too_large: 41300,
  upgrade_required: 42600,
  too_many_requests: 42900,
  transfer_coding_unknown: 50101,
  address_limited: 42901,
  session_limit_reached: 42902,
  internal_error: 50000,
  not_built: 50100,
  http_needed: 50102,
  socket_needed: 50103,
  unavailable: 50300,
}

const entries = Object.entries<ErrorEntry>(errorCatalogue)

describe('the error catalogue', () => {
  it('never uses a code twice, nor that of success', () => {
    const codes = entries.map(([, { code }]) => code)
    expect(codes.filter((code, index) => codes.indexOf(code) !== index || code === 200)).toEqual([])
  })

  it('keeps every code that was published', () => {
    expect(Object.fromEntries(entries.map(([name, { code }]) => [name, code]))).toEqual(published)
  })

  it('names errors in snake case and explains each', () => {
    for (const [name, { text, meaning }] of entries) {
      expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/)
      expect(text, name).not.toBe('')
      expect(meaning, name).not.toBe('')
    }
  })

  it('gives every failure an HTTP status of its class', () => {
    for (const [name, { http }] of entries) expect(http >= 400 && http < 600, name).toBe(true)
  })
})
