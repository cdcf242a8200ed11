import { sql } from '../../db/kysely.js'
import { type IntegrityCheck, sameConversation } from './integrity-check.js'

const subject = sql.raw(`s.low_id || '/' || s.high_id`)
const isOpen = sql.raw(`fields like '%"stream":{%' and fields like '%"state":"open"%'`)

/** Streams against their messages and their text (rule E19). */
export const streamChecks: readonly IntegrityCheck[] = [
  {
    name: 'open_stream',
    count: sql`select count(*) as count from message_streams where state = 0`,
    faults: sql`select s.app_id, ${subject} as subject,
        'message ' || s.msg_id || ' is being written, and its stream is not, or the other way round' as detail
      from (select app_id, low_id, high_id, msg_id from messages where ${isOpen}
        union select app_id, low_id, high_id, msg_id from message_streams where state = 0) s
      left join messages m on ${sameConversation('m', 's')} and m.msg_id = s.msg_id and ${isOpen}
      left join message_streams o on ${sameConversation('o', 's')} and o.msg_id = s.msg_id and o.state = 0
      where m.msg_id is null or o.msg_id is null or m.sender_id <> o.sender_id`,
  },
  {
    name: 'stream_text',
    count: sql`select count(*) as count from stream_chunks`,
    faults: sql`select s.app_id, ${subject} as subject,
        'message ' || s.msg_id || ' has ' || coalesce(c.chunks, 0) || ' pieces of text up to ' || coalesce(c.last, 0) || ', where ' || s.next_index || ' is next' as detail
      from message_streams s
      left join (select app_id, low_id, high_id, msg_id, count(*) as chunks, max(chunk_index) as last
        from stream_chunks group by app_id, low_id, high_id, msg_id) c on ${sameConversation('c', 's')} and c.msg_id = s.msg_id
      where s.state = 0 and (coalesce(c.chunks, 0) <> s.next_index - 1 or coalesce(c.last, 0) <> s.next_index - 1)`,
  },
  {
    name: 'chunk_stream',
    count: sql`select count(*) as count from stream_chunks`,
    faults: sql`select s.app_id, ${subject} as subject, 'message ' || s.msg_id || ' has pieces of text and no stream' as detail
      from (select distinct app_id, low_id, high_id, msg_id from stream_chunks) s
      where not exists (select 1 from message_streams o where ${sameConversation('o', 's')} and o.msg_id = s.msg_id)`,
  },
]
