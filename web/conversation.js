// SPDX-License-Identifier: Apache-2.0
// A conversation is a tree: to edit or to ask again makes a branch beside what was there, and
// nothing is ever overwritten. Plain data, so that it can be stored and exported as it is.
//
// {id, title, created, updated, system, leaf, nodes: {id → node}}
// node: {id, parent, role: 'user' | 'assistant', text, record?}; parent null: a first message.
import { new_id } from './api.js';

export function new_conversation(system = '') {
  const now = Date.now();
  return { id: new_id('conversation'), title: '', created: now, updated: now, system, leaf: null, nodes: {} };
}

// Adds a node under `parent`, and makes it the end of what is shown.
export function add(conversation, parent, role, text, more = {}) {
  const node = { id: new_id('node'), parent, role, text, born: Object.keys(conversation.nodes).length, ...more };
  conversation.nodes[node.id] = node;
  conversation.leaf = node.id;
  conversation.updated = Date.now();
  if (!conversation.title && role === 'user') conversation.title = title_of(text);
  return node;
}

function title_of(text) {
  const line = text.trim().split('\n', 1)[0];
  return line.length > 60 ? `${line.slice(0, 57)}…` : line;
}

// From the first message to `leaf`.
export function path(conversation, leaf = conversation.leaf) {
  const nodes = [];
  for (let id = leaf; id && conversation.nodes[id]; id = conversation.nodes[id].parent) {
    nodes.unshift(conversation.nodes[id]);
  }
  return nodes;
}

export function children(conversation, parent) {
  return Object.values(conversation.nodes).filter((node) => node.parent === parent)
    .sort((a, b) => a.born - b.born);
}

// The branches at a node, itself among them.
export const branches = (conversation, node) => children(conversation, node.parent);

// Shows the branch that `node` is in, up to the end of what was written last there.
export function show_branch(conversation, node) {
  let leaf = node;
  for (;;) {
    const below = children(conversation, leaf.id);
    if (!below.length) break;
    leaf = below[below.length - 1];
  }
  conversation.leaf = leaf.id;
}

// What the API is given for the path up to `leaf`.
export function messages(conversation, leaf = conversation.leaf) {
  const all = path(conversation, leaf).map(({ role, text }) => ({ role, content: text }));
  if (conversation.system.trim()) all.unshift({ role: 'system', content: conversation.system });
  return all;
}

// For a model without a template: all that was written, in one piece.
export const plain_text = (conversation, leaf = conversation.leaf) =>
  path(conversation, leaf).map((node) => node.text).join('');

const is_text = (value) => typeof value === 'string';

// Conversations of an exported file. An Error says what is wrong with it.
export function read_export(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch {
    throw new Error('This file is no JSON.');
  }
  if (file?.format !== 'pawl-conversations' || !Array.isArray(file.conversations)) {
    throw new Error('This file is no export of conversations from pawl.');
  }
  return file.conversations.map((one, i) => {
    const nodes = one && typeof one.nodes === 'object' ? Object.entries(one.nodes ?? {}) : null;
    const is_whole = nodes && is_text(one.id) && is_text(one.title) && is_text(one.system)
      && nodes.every(([id, node]) => node?.id === id && is_text(node.text)
        && (node.parent === null || one.nodes[node.parent]?.born < node.born)
        && (node.role === 'user' || node.role === 'assistant'));
    if (!is_whole) throw new Error(`Conversation ${i + 1} of this file is damaged.`);
    return { ...one, created: Number(one.created) || 0, updated: Number(one.updated) || 0,
      leaf: one.nodes[one.leaf] ? one.leaf : null };
  });
}

export const export_text = (conversations) =>
  JSON.stringify({ format: 'pawl-conversations', version: 1, conversations });
