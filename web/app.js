// SPDX-License-Identifier: Apache-2.0
// The page's beginning: which view is shown, what is known of the server, theme, menu, API key.
import { get_json, on_key_wanted } from './api.js';
import { Chat } from './chat.js';
import { Composer } from './composer.js';
import { byId } from './dom.js';
import { History } from './history.js';
import { fill_drawer } from './settings.js';

const kViews = ['chat', 'schema', 'server'];
const kPoll = 1500;  // ms between looks at a server that is not ready

let server = null;  // {name, context, has_template, end_tokens, version}; null until it answers
const open_views = {};

function notice(text, kind = '') {
  byId('notice').textContent = text;
  byId('notice').dataset.kind = kind;
  byId('notice').hidden = !text;
}

const history = new History(() => opened(), (text) => notice(text, 'error'));
const chat = new Chat(history, () => server);
const composer = new Composer(chat, () => server);

function opened() {
  close_menu();
  location.hash = '#chat';
  chat.draw();
  composer.update();
  show_title();
  if (!byId('settings').hidden) open_settings();
}

function show_title() {
  byId('title').textContent = history.current.title || 'New conversation';
}

history.on_remove = (conversation) => {
  if (chat.running?.conversation === conversation) chat.stop();
};

chat.on_state = () => {
  composer.update();
  show_title();
};

// -- The server

async function look_at_server() {
  let state = 'gone';
  try {
    const ready = await fetch('/ready');
    if (ready.ok) {
      const props = await get_json('/props');
      server = { name: props.model, context: props.context, has_template: props.has_chat_template,
        end_tokens: props.end_tokens ?? [], version: props.version };
      state = 'ready';
    } else {
      const { error } = await ready.json();
      state = error.code === 'shutdown' ? 'gone' : 'loading';
      notice(state === 'loading' ? 'The model is being loaded. You can write meanwhile.' : `The server does not take requests: ${error.message}.`);
    }
  } catch (failure) {
    notice(failure.status === 401 ? 'Without an API key this server answers nothing. Reload the page to be asked again.'
      : 'The server cannot be reached. Is pawl serve still running?', 'error');
    if (failure.status === 401) return;
  }
  byId('state-dot').dataset.state = state;
  byId('model-name').textContent = server?.name ?? (state === 'loading' ? 'loading the model' : 'no server');
  if (state !== 'ready') {
    setTimeout(look_at_server, kPoll);
    return;
  }
  notice('');
  chat.draw();
  composer.update();
}

on_key_wanted((was_wrong) => new Promise((resolve) => {
  const dialog = byId('key-dialog');
  byId('key-why').textContent = was_wrong ? 'The server does not know that key. Try another.'
    : 'It is kept in the memory of this page, and gone when you close or reload it.';
  byId('key').value = '';
  dialog.addEventListener('close', () => resolve(dialog.returnValue === 'use' ? byId('key').value.trim() : ''), { once: true });
  dialog.returnValue = '';
  dialog.showModal();
}));
// Enter means the key, not the first button.
byId('key').addEventListener('keydown', (event) => {
  if (event.key !== 'Enter') return;
  event.preventDefault();
  byId('key-dialog').close('use');
});

// -- Views

async function show_view() {
  const wanted = location.hash.slice(1);
  const name = kViews.includes(wanted) ? wanted : 'chat';
  for (const one of kViews) {
    byId(`view-${one}`).hidden = one !== name;
    const link = document.querySelector(`nav [data-view="${one}"]`);
    if (one === name) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.body.dataset.view = name;
  byId('settings-button').hidden = name !== 'chat';
  document.title = name === 'chat' ? 'pawl' : `pawl, ${name}`;
  close_menu();
  if (name !== 'chat') {
    close_settings();
    byId('title').textContent = name === 'schema' ? 'Schema' : 'Server';
    open_views[name] ??= (await import(`/web/${name}_view.js`)).make(byId(`view-${name}`), () => server);
  } else {
    show_title();
  }
  for (const [one, view] of Object.entries(open_views)) view.set_shown(one === name);
}
addEventListener('hashchange', show_view);

// -- Drawer, menu, theme

function open_settings() {
  fill_drawer(history.current, close_settings, () => history.keep(history.current));
  byId('settings').hidden = false;
  byId('settings-button').setAttribute('aria-expanded', 'true');
  byId('settings').querySelector('button').focus();
}

function close_settings() {
  if (byId('settings').hidden) return;
  byId('settings').hidden = true;
  byId('settings-button').setAttribute('aria-expanded', 'false');
  byId('settings-button').focus();
}
byId('settings-button').addEventListener('click', () => (byId('settings').hidden ? open_settings() : close_settings()));
byId('settings').addEventListener('keydown', (event) => { if (event.key === 'Escape') close_settings(); });

function set_menu(is_open) {
  byId('rail').toggleAttribute('data-open', is_open);
  byId('scrim').hidden = !is_open;
  byId('menu').setAttribute('aria-expanded', String(is_open));
}
function close_menu() {
  if (byId('rail').hasAttribute('data-open')) set_menu(false);
}
byId('menu').addEventListener('click', () => {
  set_menu(true);
  byId('rail').querySelector('nav a').focus();
});
byId('scrim').addEventListener('click', () => set_menu(false));
byId('rail').addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || !byId('rail').hasAttribute('data-open')) return;
  set_menu(false);
  byId('menu').focus();
});

const kThemes = ['system', 'light', 'dark'];
function show_theme() {
  byId('theme').textContent = `Theme: ${document.documentElement.dataset.theme ?? 'system'}`;
}
byId('theme').addEventListener('click', () => {
  const now = document.documentElement.dataset.theme ?? 'system';
  const next = kThemes[(kThemes.indexOf(now) + 1) % kThemes.length];
  if (next === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  localStorage.setItem('pawl-theme', next);
  dispatchEvent(new Event('themechange'));
  show_theme();
});

show_theme();
await history.load();
chat.draw();
composer.update();
show_view();
look_at_server();
