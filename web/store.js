// SPDX-License-Identifier: Apache-2.0
// Conversations in the browser's own database. They leave it only by export.
import { pack_tokens, unpack_tokens } from './pack.js';

const kStore = 'conversations';
let opened = null;
const packed = new WeakMap();  // record that is over → its tokens, packed

function database() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open('pawl', 1);
    request.onupgradeneeded = () => request.result.createObjectStore(kStore, { keyPath: 'id' });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}

async function run(mode, action) {
  const db = await database();
  return new Promise((resolve, reject) => {
    const transaction = db.transaction(kStore, mode);
    const request = action(transaction.objectStore(kStore));
    transaction.oncomplete = () => resolve(request.result);
    transaction.onerror = () => reject(transaction.error);
    transaction.onabort = () => reject(transaction.error);
  });
}

function packed_node(node) {
  const { record } = node;
  if (!record) return node;
  const tokens = packed.get(record) ?? pack_tokens(record.tokens);
  if (record.state !== 'running') packed.set(record, tokens);
  return { ...node, record: { ...record, tokens } };
}

function unpacked_node(node) {
  if (!node.record) return node;
  return { ...node, record: { ...node.record, tokens: unpack_tokens(node.record.tokens) } };
}

const with_nodes = (conversation, change) => ({ ...conversation,
  nodes: Object.fromEntries(Object.entries(conversation.nodes).map(([id, node]) => [id, change(node)])) });

export async function load_all() {
  return (await run('readonly', (store) => store.getAll())).map((one) => with_nodes(one, unpacked_node));
}
export const save = (conversation) => run('readwrite', (store) => store.put(with_nodes(conversation, packed_node)));
export const remove = (id) => run('readwrite', (store) => store.delete(id));
