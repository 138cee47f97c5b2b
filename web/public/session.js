// Where this tab keeps who it is.

export const TOKEN_KEY = 'starling.token';
export const USER_KEY = 'starling.user'; // whose place the tab keeps
export const PROBLEM_KEY = 'starling.signin-problem'; // why nobody was signed in, for the sheet to say
export const OPENS_KEY = 'starling.opens'; // what a notification was about, until somebody is signed in
export const INVITATION_KEY = 'starling.invitation'; // whom a link led to, until somebody is signed in
