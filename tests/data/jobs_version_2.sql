CREATE TABLE inkgate_fields (
	job VARCHAR(32) NOT NULL, 
	wanted TEXT NOT NULL, 
	extraction TEXT, 
	corrections TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	PRIMARY KEY (job)
);
CREATE TABLE inkgate_jobs (
	id VARCHAR(32) NOT NULL, 
	tenant TEXT NOT NULL, 
	state VARCHAR(12) NOT NULL, 
	name TEXT NOT NULL, 
	source TEXT NOT NULL, 
	upload VARCHAR(64), 
	options TEXT NOT NULL, 
	password TEXT, 
	rank INTEGER NOT NULL, 
	turn BIGINT NOT NULL, 
	pipeline TEXT NOT NULL, 
	webhook TEXT NOT NULL, 
	"key" VARCHAR(64), 
	fingerprint VARCHAR(64) NOT NULL, 
	created DOUBLE NOT NULL, 
	not_before DOUBLE NOT NULL, 
	started DOUBLE, 
	ended DOUBLE, 
	deadline DOUBLE, 
	pages INTEGER, 
	saved INTEGER NOT NULL, 
	failed INTEGER NOT NULL, 
	attempts INTEGER NOT NULL, 
	retries INTEGER NOT NULL, 
	suspect INTEGER, 
	suspect_deaths INTEGER NOT NULL, 
	lease VARCHAR(32), 
	leased_at DOUBLE, 
	lease_until DOUBLE, 
	document TEXT, 
	error_code VARCHAR(64), 
	error_detail TEXT, 
	expired BOOLEAN NOT NULL, 
	review VARCHAR(12), 
	PRIMARY KEY (id), 
	CONSTRAINT inkgate_jobs_key UNIQUE (tenant, "key")
);
INSERT INTO "inkgate_jobs" VALUES('01a2245ebc7700004d446e608386dcaf','a','queued','a 0','{"upload":"0000000000000000000000000000000000000000000000000000000000000000","url":"","etag":"","version":""}','0000000000000000000000000000000000000000000000000000000000000000','{"task":{"kind":"text","detect_rotation":true,"line_orientation":true,"min_line_confidence":null,"detection_threshold":null,"detection_box_threshold":null,"detection_unclip_ratio":null,"detection_longest_side":null,"fields":[],"language":null,"whole_page":false,"image_scale":1.0,"max_output_tokens":null,"images":false,"invisible":false},"pages":"","pdf_text":null,"password":"","form":""}',NULL,2,5001,'','',NULL,'7f9d92560a613512f56bcad53349f8f0bf78080571564601a044f8088e67e32e',1.79590651813571500778e+09,1.79590651813571500778e+09,NULL,NULL,NULL,NULL,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL);
INSERT INTO "inkgate_jobs" VALUES('01a2245ebc77000191993aa8274d49f4','a','queued','a 1','{"upload":"0000000000000000000000000000000000000000000000000000000000000000","url":"","etag":"","version":""}','0000000000000000000000000000000000000000000000000000000000000000','{"task":{"kind":"text","detect_rotation":true,"line_orientation":true,"min_line_confidence":null,"detection_threshold":null,"detection_box_threshold":null,"detection_unclip_ratio":null,"detection_longest_side":null,"fields":[],"language":null,"whole_page":false,"image_scale":1.0,"max_output_tokens":null,"images":false,"invisible":false},"pages":"","pdf_text":null,"password":"","form":""}',NULL,2,5002,'','',NULL,'7f9d92560a613512f56bcad53349f8f0bf78080571564601a044f8088e67e32e',1.79590651813571500778e+09,1.79590651813571500778e+09,NULL,NULL,NULL,NULL,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL);
INSERT INTO "inkgate_jobs" VALUES('01a2245ebc77000256f0d02f04888c8d','b','queued','b 0','{"upload":"0000000000000000000000000000000000000000000000000000000000000000","url":"","etag":"","version":""}','0000000000000000000000000000000000000000000000000000000000000000','{"task":{"kind":"text","detect_rotation":true,"line_orientation":true,"min_line_confidence":null,"detection_threshold":null,"detection_box_threshold":null,"detection_unclip_ratio":null,"detection_longest_side":null,"fields":[],"language":null,"whole_page":false,"image_scale":1.0,"max_output_tokens":null,"images":false,"invisible":false},"pages":"","pdf_text":null,"password":"","form":""}',NULL,2,5001,'','',NULL,'7f9d92560a613512f56bcad53349f8f0bf78080571564601a044f8088e67e32e',1.79590651813571500778e+09,1.79590651813571500778e+09,NULL,NULL,NULL,NULL,0,0,0,0,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL);
CREATE TABLE inkgate_outbox (
	id VARCHAR(32) NOT NULL, 
	job VARCHAR(32) NOT NULL, 
	sink TEXT NOT NULL, 
	state VARCHAR(12) NOT NULL, 
	attempts INTEGER NOT NULL, 
	not_before DOUBLE NOT NULL, 
	token VARCHAR(32), 
	error TEXT, 
	PRIMARY KEY (id)
);
CREATE TABLE inkgate_pages (
	job VARCHAR(32) NOT NULL, 
	page INTEGER NOT NULL, 
	failed BOOLEAN NOT NULL, 
	result BLOB NOT NULL, 
	saved_at DOUBLE NOT NULL, 
	PRIMARY KEY (job, page)
);
CREATE TABLE inkgate_schema (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "inkgate_schema" VALUES(2);
CREATE TABLE inkgate_shares (
	rank INTEGER NOT NULL, 
	tenant TEXT NOT NULL, 
	turn BIGINT NOT NULL, 
	PRIMARY KEY (rank, tenant)
);
INSERT INTO "inkgate_shares" VALUES(2,'a',5002);
CREATE INDEX inkgate_jobs_queue ON inkgate_jobs (state, rank, turn, id);
CREATE INDEX inkgate_jobs_tenant ON inkgate_jobs (tenant, id);
CREATE INDEX inkgate_jobs_ended ON inkgate_jobs (expired, ended);
CREATE INDEX inkgate_jobs_upload ON inkgate_jobs (upload);
CREATE INDEX inkgate_jobs_review ON inkgate_jobs (tenant, review, id);
CREATE INDEX inkgate_pages_saved_at ON inkgate_pages (saved_at);
CREATE INDEX inkgate_outbox_job ON inkgate_outbox (job);
CREATE INDEX inkgate_outbox_due ON inkgate_outbox (state, not_before)
